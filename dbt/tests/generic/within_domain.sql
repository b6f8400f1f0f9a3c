{#- Fails with the rows in which a column named like a metric lies outside the domain that the registry gives it: [0, none]
    where it gives none; NULL passes. -#}
{% test within_domain(model) %}
select * from {{ model }}
where false
{%- if execute %}
{%- for column in adapter.get_columns_in_relation(model) if column.name in metric_registry() %}
  {%- set domain = metric_entry(column.name).domain or [0, none] %}
  {%- if domain[0] is not none %} or {{ column.name }} < {{ domain[0] }} - 1e-6{% endif %}
  {%- if domain[1] is not none %} or {{ column.name }} > {{ domain[1] }} + 1e-6{% endif %}
{%- endfor %}
{%- endif %}
{% endtest %}
