with parts as (
  select *,
    sum(denominator) over metric_of_point as denominators,
    {{ ratio('sum(numerator) over metric_of_point', 'sum(denominator) over metric_of_point') }} as ratio
  from {{ ref('int_point_measure') }}
  window metric_of_point as (partition by system_id, point, condition, workload, subject, metric)
),

measured as (
  select system_id, point, condition, workload, subject, metric, any_value(unit) as unit,
    any_value(aggregation) as aggregation, count(*) as n_intervals, bool_or(is_run) as is_run,
    any_value(scale) * case any_value(aggregation)
      when 'ratio' then any_value(ratio)
      when 'sum' then sum({{ ratio('numerator', 'denominator') }})
      when 'min' then min({{ ratio('numerator', 'denominator') }})
      when 'max' then max({{ ratio('numerator', 'denominator') }})
      when 'point' then any_value({{ ratio('numerator', 'denominator') }})
    end as value,
    -- Standard error of a ratio of sums by linearisation (Cochran, Sampling Techniques, 6.4).
    case when any_value(aggregation) = 'ratio' and count(*) > 1 then any_value(scale)
      * sqrt(sum(power(numerator - ratio * denominator, 2)) * count(*) / (count(*) - 1)) / any_value(denominators)
    end as value_se
  from parts
  group by system_id, point, condition, workload, subject, metric
)

select
  system_id::varchar as system_id,
  point::varchar as point,
  condition::varchar as condition,
  workload::varchar as workload,
  subject::varchar as subject,
  metric::varchar as metric,
  value::double as value,
  value_se::double as value_se,
  unit::varchar as unit,
  aggregation::varchar as aggregation,
  n_intervals::integer as n_intervals,
  is_run::boolean as is_run
from measured
where value is not null
