with ratios as (
  select *,
    sum(denominator) over metric_of_point as denominators,
    {{ ratio('sum(numerator) over metric_of_point', 'sum(denominator) over metric_of_point') }} as ratio
  from {{ ref('int_point_measure') }}
  window metric_of_point as (partition by system_id, point, condition, workload, metric)
)

select
  system_id::varchar as system_id,
  point::varchar as point,
  condition::varchar as condition,
  workload::varchar as workload,
  metric::varchar as metric,
  (any_value(scale) * any_value(ratio))::double as value,
  -- Standard error of a ratio of sums by linearisation (Cochran, Sampling Techniques, 6.4).
  case when count(*) > 1 then any_value(scale)
    * sqrt(sum(power(numerator - ratio * denominator, 2)) * count(*) / (count(*) - 1)) / any_value(denominators)
  end::double as value_se,
  any_value(unit)::varchar as unit,
  count(*)::integer as n_intervals,
  bool_or(is_run)::boolean as is_run
from ratios
where ratio is not null
group by system_id, point, condition, workload, metric
