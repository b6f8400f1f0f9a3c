{#- Whether a moment on a system lies in a run. -#}
{% macro at_run(run, smf_sid, moment_utc) -%}
  ({{ run }}.smf_sid = {{ smf_sid }} and {{ moment_utc }} >= {{ run }}.start_utc and {{ moment_utc }} < {{ run }}.end_utc)
{%- endmacro %}

{#- Whether a moment lies in a run, for data that names no system, such as a load driver's. -#}
{% macro during_run(run, moment_utc) -%}
  ({{ moment_utc }} >= {{ run }}.start_utc and {{ moment_utc }} < {{ run }}.end_utc)
{%- endmacro %}
