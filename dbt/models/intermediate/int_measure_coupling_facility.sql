-- Requests to coupling facility structures and their service times; the subject is the structure.
-- The LPARs of a system are taken together: their requests and service times add up, seconds pass once. So do the parts
-- of a structure that is held in two coupling facilities.
with together as (
  select p.system_id, p.point, p.condition, trim(s.structure_name) as structure_name, p.position, p.seconds,
    sum(p.share * s.sync_requests) as sync_requests,
    sum(p.share * s.async_requests) as async_requests,
    sum(p.share * s.sync_service_us) as sync_service_us,
    sum(p.share * s.async_service_us) as async_service_us
  from {{ first_written(source('staging', 'stg_smf74_4_request'), ['structure_name', 'structure_version', 'is_secondary']) }} s
  join {{ ref('int_point_share') }} p using (smf_sid, interval_start_utc, interval_s)
  where p.is_run
  group by all
),

-- Begin-to-end transactions of all workloads and LPARs.
transactions as (
  select k.system_id, k.point, k.condition, k.position, sum(k.share * w.transactions_ended) as ended
  from {{ ref('int_point_share') }} k
  join {{ ref('int_workload_interval') }} w using (interval_key)
  group by all
),

-- Where a point has no request of a kind, its service time is 0, as RMF prints it.
measured as (
  select t.*, w.ended,
    case when sum(sync_requests) over structure = 0 then 1 else sync_requests end as sync_requests_or_one,
    case when sum(async_requests) over structure = 0 then 1 else async_requests end as async_requests_or_one
  from together t
  left join transactions w using (system_id, point, condition, position)
  window structure as (partition by t.system_id, t.point, t.condition, t.structure_name)
)

select system_id, point, condition, true as is_run, position, seconds, null::varchar as workload,
  structure_name as subject,
  unnest([
    {% for metric in metrics_of('structure') -%}
    {{ measure(metric, {'sync_requests': 'sync_requests_or_one', 'async_requests': 'async_requests_or_one'}
      if metric in ['cf_sync_service_us', 'cf_async_service_us'] else {}) }}{{ ',' if not loop.last }}
    {% endfor -%}
  ], recursive := true)
from measured
