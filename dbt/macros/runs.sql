{#- Whether an interval belongs to a run: same system, its midpoint in the run's window. -#}
{% macro in_run(run, smf_sid, start_utc, seconds) -%}
  ({{ run }}.smf_sid = {{ smf_sid }}
    and {{ start_utc }} + to_microseconds((({{ seconds }}) * 500000)::bigint) >= {{ run }}.start_utc
    and {{ start_utc }} + to_microseconds((({{ seconds }}) * 500000)::bigint) < {{ run }}.end_utc)
{%- endmacro %}
