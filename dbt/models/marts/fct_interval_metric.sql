-- What was not measured by RMF intervals (logs, steps, displays) starts with its run. Parts of a sum are added up.
with measure as (
  select system_id, point, condition, is_run, position, max(seconds) as seconds, workload, subject, metric, unit, scale,
    aggregation,
    case when aggregation = 'sum' then sum({{ ratio('numerator', 'denominator') }}) else any_value(numerator) end as numerator,
    case when aggregation = 'sum' then 1 else any_value(denominator) end as denominator
  from {{ ref('int_point_measure') }}
  group by system_id, point, condition, is_run, position, workload, subject, metric, unit, scale, aggregation
),

run as (
  select system_id, point, condition, min(start_utc) as start_utc
  from {{ ref('int_run') }}
  group by all
)

select
  m.system_id::varchar as system_id,
  m.point::varchar as point,
  m.condition::varchar as condition,
  m.is_run::boolean as is_run,
  m.position::integer as position,
  coalesce(p.interval_start_utc, r.start_utc)::timestamp as interval_start_utc,
  p.interval_start_local::timestamp as interval_start_local,
  m.seconds::double as seconds,
  m.workload::varchar as workload,
  m.subject::varchar as subject,
  m.metric::varchar as metric,
  m.numerator::double as numerator,
  m.denominator::double as denominator,
  m.scale::double as scale,
  (m.scale * {{ ratio('m.numerator', 'm.denominator') }})::double as value,
  m.unit::varchar as unit,
  m.aggregation::varchar as aggregation
from measure m
left join {{ ref('int_point_interval') }} p
  on p.system_id = m.system_id and p.point = m.point and p.condition = m.condition and p.position = m.position
  and m.seconds is not null
left join run r on r.system_id = m.system_id and r.point = m.point and r.condition = m.condition
