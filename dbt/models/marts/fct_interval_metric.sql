select
  m.system_id::varchar as system_id,
  m.point::varchar as point,
  m.condition::varchar as condition,
  m.is_run::boolean as is_run,
  m.position::integer as position,
  p.interval_start_utc::timestamp as interval_start_utc,
  p.interval_start_local::timestamp as interval_start_local,
  m.seconds::double as seconds,
  m.workload::varchar as workload,
  m.subject::varchar as subject,
  m.metric::varchar as metric,
  m.numerator::double as numerator,
  m.denominator::double as denominator,
  m.scale::double as scale,
  (m.scale * {{ ratio('m.numerator', 'm.denominator') }})::double as value,
  m.unit::varchar as unit
from {{ ref('int_point_measure') }} m
join {{ ref('int_point_interval') }} p using (system_id, point, condition, position)
where m.aggregation = 'ratio'
