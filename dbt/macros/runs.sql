{#- Whether an interval belongs to a run: same system, its midpoint in the run's window. -#}
{% macro in_run(run, smf_sid, start_utc, seconds) -%}
  ({{ run }}.smf_sid = {{ smf_sid }}
    and {{ start_utc }} + to_microseconds((({{ seconds }}) * 500000)::bigint) >= {{ run }}.start_utc
    and {{ start_utc }} + to_microseconds((({{ seconds }}) * 500000)::bigint) < {{ run }}.end_utc)
{%- endmacro %}

{#- A table expression `run_of_interval`: the run that each interval of a relation belongs to, the later where two meet. -#}
{% macro run_of_interval(relation) -%}
run_of_interval as (
  select i.smf_sid, i.interval_start_utc, r.system_id, r.point, r.condition
  from (select smf_sid, interval_start_utc, max(interval_s) as interval_s from {{ relation }} group by all) i
  join {{ ref('int_run') }} r on {{ in_run('r', 'i.smf_sid', 'i.interval_start_utc', 'i.interval_s') }}
  qualify row_number() over (
    partition by i.smf_sid, i.interval_start_utc order by r.start_utc desc, r.system_id, r.point) = 1
)
{%- endmacro %}
