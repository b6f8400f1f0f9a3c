-- Every metric of every interval of a measured point as a numerator and a denominator, and how intervals are taken
-- together: this is the one place where a metric of a point is defined, one model for each kind of record.
{% set domains = ['activity', 'lpar', 'coupling_facility', 'wlm_class', 'storage', 'display', 'response', 'step',
  'ims_log', 'device', 'change', 'logger'] -%}
{% for domain in domains -%}
select
  system_id, point, condition, is_run, position, seconds, workload, subject, metric,
  {{ 'definition, about' if domain in ['activity', 'change', 'display'] else 'metric as definition, null::varchar as about' }},
  unit, aggregation, scale, numerator, denominator
from {{ ref('int_measure_' ~ domain) }}
where numerator is not null and denominator is not null
{% if not loop.last -%}
union all
{% endif -%}
{% endfor %}
