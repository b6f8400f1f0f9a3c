-- A request that enters one region, runs in a second and calls a third is one business transaction, counted where it
-- began; the CPU of all three is its own.
with measured as (
  select
    interval_start_utc, interval_s, origin_applid, origin_transaction_id,
    min(system_id) as system_id,
    count(distinct applid) as regions,
    count(*) filter (where coalesce(record_kind, '') in ('', 'T') and is_origin) as transactions_begun,
    count(*) filter (where coalesce(record_kind, '') in ('', 'T') and not is_origin) as tasks_elsewhere,
    sum(cpu_us)::double as cpu_us,
    sum(cpu_us) filter (where not is_origin)::double as cpu_elsewhere_us,
    sum(response_us) filter (where is_origin)::double as response_us
  from {{ ref('int_cics_task') }}
  group by interval_start_utc, interval_s, origin_applid, origin_transaction_id
)

select
  system_id::varchar as system_id,
  interval_start_utc::timestamp as interval_start_utc,
  interval_s::double as interval_s,
  origin_applid::varchar as origin_applid,
  origin_transaction_id::varchar as origin_transaction_id,
  regions::integer as regions,
  transactions_begun::bigint as transactions_begun,
  tasks_elsewhere::bigint as tasks_elsewhere,
  {{ ratio('transactions_begun', 'interval_s') }}::double as begun_tps,
  {{ ratio('transactions_begun + tasks_elsewhere', 'transactions_begun') }}::double as tasks_per_tran,
  {{ ratio('cpu_us', 'transactions_begun') }}::double as task_cpu_us_per_tran,
  {{ ratio('cpu_elsewhere_us', 'transactions_begun') }}::double as cpu_elsewhere_us_per_tran,
  (1e-3 * {{ ratio('response_us', 'transactions_begun') }})::double as response_ms
from measured
