{#- Every metric of the project and of the user, by name: `metrics` in dbt_project.yml says what an entry holds. -#}
{% macro metric_registry() -%}
  {%- do return(dict(var('metrics'), **fromjson(env_var('ETALON_METRICS', '{}')))) -%}
{%- endmacro %}

{#- Names of the metrics of a grain. -#}
{% macro metrics_of(grain) -%}
  {%- set found = [] -%}
  {%- for name, entry in metric_registry().items() if entry.grain == grain -%}{%- do found.append(name) -%}{%- endfor -%}
  {%- do return(found) -%}
{%- endmacro %}

{#- An entry of the registry, with what it has in common with the entry it is `like`. -#}
{% macro metric_entry(metric) -%}
  {%- set registry = metric_registry() -%}
  {%- set entry = registry[metric] -%}
  {%- do return(dict(registry[entry.like], **entry) if entry.like else entry) -%}
{%- endmacro %}

{#- Numerator or denominator of a metric; `columns` says what stands in place of which name. -#}
{% macro metric_part(part, columns={}) -%}
  {%- set text = namespace(of=part | string) -%}
  {%- for name, column in columns.items() -%}
    {%- set text.of = text.of | replace('{' ~ name ~ '}', '(' ~ column ~ ')') -%}
  {%- endfor -%}
  {%- do return(text.of | replace('{', '') | replace('}', '')) -%}
{%- endmacro %}

{#- Value of a metric where its parts are columns; NULL where the denominator is zero or missing. -#}
{% macro metric(metric, columns={}) -%}
  {%- set entry = metric_entry(metric) -%}
  ({{ entry.scale or 1 }} * {{ ratio(metric_part(entry.numerator, columns), metric_part(entry.denominator, columns)) }})::double
{%- endmacro %}

{#- A metric as a structure of its name, what defines it, what it is about, unit, aggregation, scale, numerator and
    denominator; `about` is the column with the workload, group or class that its name holds. -#}
{% macro measure(metric, columns={}, about=none) -%}
  {%- set entry = metric_entry(metric) -%}
  {%- set name = "'" ~ (entry.name or metric) ~ "'" -%}
  {'metric': {{ name | replace('{about}', "' || " ~ about ~ " || '") if about else name }},
      'definition': '{{ metric }}', 'about': {{ about or 'null' }}::varchar, 'unit': '{{ entry.unit }}',
      'aggregation': '{{ entry.aggregation or 'ratio' }}', 'scale': {{ entry.scale or 1 }}::double,
      'numerator': ({{ metric_part(entry.numerator, columns) }})::double,
      'denominator': ({{ metric_part(entry.denominator, columns) }})::double}
{%- endmacro %}

{#- All metrics of a grain as a list of such structures. -#}
{% macro measures_of(grain, about=none) -%}
  [{% for metric in metrics_of(grain) %}
    {{ measure(metric, var('metric_columns').get(grain, {}), about) }}{{ ',' if not loop.last }}{% endfor %}
  ]
{%- endmacro %}
