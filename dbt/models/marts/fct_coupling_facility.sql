-- A structure held in two coupling facilities is recorded twice for an interval: its parts add up, seconds pass once.
with structure as (
  select smf_sid, interval_start_utc, interval_start_local, interval_s, trim(structure_name) as structure_name,
    {% for column in ['sync_requests', 'async_requests', 'sync_service_us', 'async_service_us', 'sync_to_async',
        'queued_requests', 'queue_delay_us', 'lock_contentions', 'false_lock_contentions'] -%}
    sum({{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from {{ first_written(source('staging', 'stg_smf74_4_request'), ['structure_name', 'structure_version', 'is_secondary']) }}
  group by smf_sid, interval_start_utc, interval_start_local, interval_s, trim(structure_name)
),

measured as (
  select
    k.interval_key, min(k.system_id) as system_id, k.smf_sid, min(k.point) as point, min(k.condition) as condition,
    min(k.interval_start_utc) as interval_start_utc, min(k.interval_start_local) as interval_start_local,
    sum(k.share * k.recorded_s) as interval_s,
    s.structure_name,
    {% for column in ['sync_requests', 'async_requests', 'sync_service_us', 'async_service_us', 'sync_to_async',
        'queued_requests', 'queue_delay_us', 'lock_contentions', 'false_lock_contentions'] -%}
    sum(k.share * s.{{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from structure s
  join {{ ref('int_interval_share') }} k
    on k.smf_sid = s.smf_sid and {{ same_start('k.recorded_start', 's.interval_start') }} and k.recorded_s = s.interval_s
  group by k.interval_key, k.smf_sid, s.structure_name
),

-- Transactions of the seconds in which the structure was measured.
transactions as (
  select w.interval_key, sum(w.transactions_ended) / any_value(n.interval_s) as ended_per_s
  from {{ ref('int_workload_interval') }} w
  join {{ ref('int_interval') }} n using (interval_key)
  group by w.interval_key
)

select
  {{ interval_identity() }},
  structure_name::varchar as structure_name,
  (sync_requests + async_requests)::double as requests,
  {{ metric('cf_requests_per_s', {'seconds': 'interval_s'}) }} as requests_per_s,
  {{ metric('cf_requests_per_tran', {'ended': 'ended_per_s * interval_s'}) }} as requests_per_tran,
  {{ metric('cf_sync_pct') }} as sync_pct,
  {{ metric('cf_sync_service_us') }} as sync_service_us,
  {{ metric('cf_async_service_us') }} as async_service_us,
  {{ metric('cf_sync_cpu_us_per_tran', {'ended': 'ended_per_s * interval_s'}) }} as sync_cpu_us_per_tran,
  {{ ratio('sync_service_us', '1e4 * interval_s') }}::double as sync_cpu_pct,
  (100 * {{ ratio('sync_to_async', 'sync_requests + async_requests') }})::double as sync_to_async_pct,
  {{ ratio('queue_delay_us', 'queued_requests') }}::double as queue_delay_us,
  (100 * {{ ratio('lock_contentions', 'sync_requests + async_requests') }})::double as contention_pct,
  (100 * {{ ratio('false_lock_contentions', 'lock_contentions') }})::double as false_contention_pct
from measured
left join transactions using (interval_key)
