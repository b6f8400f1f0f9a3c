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

{#- A table expression `interval_of`: the recorded intervals that start within a second of the starts of a relation. Joined
    by the second, for all starts with all intervals of a system would be years with years. -#}
{% macro interval_of(relation) -%}
interval_of as (
  select s.smf_sid, s.interval_start_utc, n.interval_key, n.system_id, n.point, n.condition
  from (
    select distinct smf_sid, interval_start_utc,
      unnest([-1, 0, 1]) + floor(epoch(interval_start_utc))::bigint as second
    from {{ relation }}
  ) s
  join {{ ref('int_interval') }} n
    on n.smf_sid = s.smf_sid and floor(epoch(n.interval_start_utc))::bigint = s.second
    and abs(epoch_ms(n.interval_start_utc) - epoch_ms(s.interval_start_utc)) <= 1000
)
{%- endmacro %}
