with structure as (
  select
    smf_sid, interval_start_utc, trim(structure_name) as structure_name,
    min(interval_start_local) as interval_start_local,
    max(interval_s) as interval_s,
    sum(sync_requests) as sync_requests,
    sum(async_requests) as async_requests,
    sum(sync_service_us) as sync_service_us,
    sum(async_service_us) as async_service_us,
    sum(sync_to_async) as sync_to_async,
    sum(queued_requests) as queued_requests,
    sum(queue_delay_us) as queue_delay_us,
    sum(lock_contentions) as lock_contentions,
    sum(false_lock_contentions) as false_lock_contentions
  from {{ ref('stg_smf74_4_request') }}
  group by smf_sid, interval_start_utc, trim(structure_name)
),

transactions as (
  select interval_key, sum(transactions_ended) as transactions_ended
  from {{ ref('int_workload_interval') }}
  group by interval_key
),

{{ interval_of('structure') }},

{{ run_of_interval('structure') }}

select
  coalesce(n.interval_key, {{ interval_key('s.smf_sid', 's.interval_start_utc', 's.interval_start_local') }})::varchar
    as interval_key,
  coalesce(n.system_id, r.system_id, o.system_id, s.smf_sid)::varchar as system_id,
  s.smf_sid::varchar as smf_sid,
  coalesce(n.point, r.point)::varchar as point,
  coalesce(n.condition, r.condition)::varchar as condition,
  s.interval_start_utc::timestamp as interval_start_utc,
  s.interval_start_local::timestamp as interval_start_local,
  s.interval_s::double as interval_s,
  s.structure_name::varchar as structure_name,
  (s.sync_requests + s.async_requests)::double as requests,
  {{ metric('cf_requests_per_s', {'seconds': 's.interval_s'}) }} as requests_per_s,
  {{ metric('cf_requests_per_tran', {'ended': 't.transactions_ended'}) }} as requests_per_tran,
  {{ metric('cf_sync_pct') }} as sync_pct,
  {{ metric('cf_sync_service_us') }} as sync_service_us,
  {{ metric('cf_async_service_us') }} as async_service_us,
  {{ metric('cf_sync_cpu_us_per_tran', {'ended': 't.transactions_ended'}) }} as sync_cpu_us_per_tran,
  {{ ratio('s.sync_service_us', '1e4 * s.interval_s') }}::double as sync_cpu_pct,
  (100 * {{ ratio('s.sync_to_async', 's.sync_requests + s.async_requests') }})::double as sync_to_async_pct,
  {{ ratio('s.queue_delay_us', 's.queued_requests') }}::double as queue_delay_us,
  (100 * {{ ratio('s.lock_contentions', 's.sync_requests + s.async_requests') }})::double as contention_pct,
  (100 * {{ ratio('s.false_lock_contentions', 's.lock_contentions') }})::double as false_contention_pct
from structure s
left join interval_of n on n.smf_sid = s.smf_sid and n.interval_start_utc = s.interval_start_utc
left join run_of_interval r on r.smf_sid = s.smf_sid and r.interval_start_utc = s.interval_start_utc
left join {{ ref('int_owner') }} o on o.smf_sid = s.smf_sid
left join transactions t on t.interval_key = n.interval_key
