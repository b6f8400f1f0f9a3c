{#- Nobody reads the warehouse while it is built, so a relation takes the place of the last one in one transaction,
    without the second name, the backup and the renaming by which dbt's own materializations spare readers. -#}

{% materialization table, adapter='duckdb' %}
  {%- set target = replaceable('table') -%}
  {% call statement('main') -%}
    drop table if exists {{ target }};
    {{ create_table_as(False, target, compiled_code) }}
  {%- endcall %}
  {% do adapter.commit() %}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{% materialization view, adapter='duckdb' %}
  {%- set target = replaceable('view') -%}
  {% call statement('main') -%}
    create or replace view {{ target }} as ({{ compiled_code }})
  {%- endcall %}
  {% do adapter.commit() %}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{#- The relation of the model that runs; what was of another type until now is dropped. -#}
{% macro replaceable(type) %}
  {%- set existing = load_cached_relation(this) -%}
  {%- if existing is not none and existing.type != type -%}{% do adapter.drop_relation(existing) %}{%- endif -%}
  {{ return(this.incorporate(type=type)) }}
{% endmacro %}
