{#-
  The classes whose ended transactions are a workload's, by interval: what `transaction_class` rows of the groups file
  name. A pattern names report classes; where it matches none in an interval, service classes. `name` is the row's
  address-space group, empty where the class only counts with the others.
-#}
{% macro transaction_classes() -%}
(
  select g.workload, g.address_space_group as name, c.*
  from {{ ref('int_interval') }} n
  join {{ ref('int_group') }} g
    on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid) and g.kind = 'transaction_class'
  join {{ ref('int_class_interval') }} c
    on c.interval_key = n.interval_key and c.class_kind in ('report_class', 'service_class')
    and c.class_name like g.pattern
  qualify c.class_kind = min(c.class_kind) over (partition by n.interval_key, g.workload, g.pattern)
)
{%- endmacro %}

{# SMF system identifiers that groups files name one system for, with that system, as a subquery. #}
{% macro named_system() -%}
(
  select smf_sid, min(system_id) as system_id
  from {{ ref('int_group') }}
  where smf_sid is not null
  group by smf_sid
  having count(distinct system_id) = 1
)
{%- endmacro %}
