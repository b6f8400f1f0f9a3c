-- Buffers, phases of operations, and data set statistics, from displays, audit trails and catalogue listings.
with buffers as (
  select r.system_id, r.point, r.condition, s.pool as subject,
    unnest([{{ measure('buffers_max') }}], recursive := true),
    row_number() over (partition by r.system_id, r.point, r.condition, s.pool order by s.sampled_utc) as position
  from {{ ref('stg_collector_buffer') }} s
  join {{ ref('int_run') }} r on {{ at_run('r', 's.smf_sid', 's.sampled_utc') }}
),

phase as (
  select r.system_id, r.point, r.condition, s.phase, s.elapsed_s,
    row_number() over (partition by r.system_id, r.point, r.condition, s.phase order by s.start_utc) as position
  from {{ ref('stg_collector_phase') }} s
  join {{ ref('int_run') }} r on {{ at_run('r', 's.smf_sid', 's.start_utc') }}
  -- The same phase in several files counts once.
  qualify row_number() over (
    partition by r.system_id, r.point, r.condition, s.smf_sid, s.operation, s.phase, s.start_utc order by s.end_utc desc
  ) = 1
),

phases as (
  select system_id, point, condition, subject, unnest({{ measures_of('phase') }}, recursive := true), position
  from (select *, unnest([phase, 'total']) as subject from phase)
),

listing as (
  select r.system_id, r.point, r.condition, s.*
  from {{ ref('stg_collector_data_set') }} s
  join {{ ref('int_run') }} r on {{ at_run('r', 's.smf_sid', 's.sampled_utc') }}
  qualify row_number() over (
    partition by r.system_id, r.point, r.condition, s.data_set_name order by s.sampled_utc desc
  ) = 1
),

data_sets as (
  select system_id, point, condition, '' as subject,
    unnest({{ measures_of('data_set') }}, recursive := true),
    row_number() over (partition by system_id, point, condition order by data_set_name) as position
  from listing
)

select system_id, point, condition, true as is_run, position, null::double as seconds, null::varchar as workload, subject,
  metric, definition, about, unit, aggregation, scale, numerator, denominator
from (
  select * from buffers
  union all by name
  select * from phases
  union all by name
  select * from data_sets
)
