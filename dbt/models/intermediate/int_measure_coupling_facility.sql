-- Requests to coupling facility structures and their service times; the subject is the structure.
-- The LPARs of a system are taken together: their requests and service times add up, seconds pass once.
with request as (
  select
    r.system_id, r.point, r.condition, s.smf_sid, s.interval_s, s.structure_name,
    s.sync_requests, s.async_requests, s.sync_service_us, s.async_service_us,
    row_number() over (
      partition by r.system_id, r.point, r.condition, s.smf_sid, s.structure_name order by s.interval_start_utc
    ) as position
  from {{ ref('stg_smf74_4_request') }} s
  join {{ ref('int_run') }} r on {{ in_run('r', 's.smf_sid', 's.interval_start_utc', 's.interval_s') }}
),

together as (
  select system_id, point, condition, structure_name, position,
    max(interval_s) as seconds,
    sum(sync_requests) as sync_requests,
    sum(async_requests) as async_requests,
    sum(sync_requests + async_requests) as requests,
    sum(sync_service_us) as sync_service_us,
    sum(async_service_us) as async_service_us
  from request
  group by all
)

select system_id, point, condition, true as is_run, position, seconds, null::varchar as workload,
  structure_name as subject, 'ratio' as aggregation,
  unnest([
    {'metric': 'cf_requests_per_s', 'unit': '1/s', 'scale': 1.0, 'numerator': requests, 'denominator': seconds},
    {'metric': 'cf_sync_pct', 'unit': 'pct', 'scale': 100.0, 'numerator': sync_requests, 'denominator': requests},
    {'metric': 'cf_async_pct', 'unit': 'pct', 'scale': 100.0, 'numerator': async_requests, 'denominator': requests},
    -- Where a point has no request of a kind, its service time is 0, as RMF prints it.
    {'metric': 'cf_sync_service_us', 'unit': 'us', 'scale': 1.0, 'numerator': sync_service_us,
      'denominator': case when sum(sync_requests) over structure = 0 then 1 else sync_requests end},
    {'metric': 'cf_async_service_us', 'unit': 'us', 'scale': 1.0, 'numerator': async_service_us,
      'denominator': case when sum(async_requests) over structure = 0 then 1 else async_requests end}
  ], recursive := true)
from together
window structure as (partition by system_id, point, condition, structure_name)
