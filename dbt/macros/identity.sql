{#- The columns by which a mart says which interval of which system, and which measured point, a row is about. -#}
{% macro interval_identity(table='') -%}
  {%- set types = {'interval_key': 'varchar', 'system_id': 'varchar', 'smf_sid': 'varchar', 'point': 'varchar',
    'condition': 'varchar', 'interval_start_utc': 'timestamp', 'interval_start_local': 'timestamp', 'interval_s': 'double'} -%}
  {%- for name, type in types.items() -%}
  {{ table }}{{ '.' if table }}{{ name }}::{{ type }} as {{ name }}{{ ',\n  ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}
