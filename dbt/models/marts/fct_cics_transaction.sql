-- One scan of the task records. Parts of a task (RTYPE C, D, F, S) add their times; only its end counts as a task.
with measured as (
  select
    interval_key, system_id, smf_sid, interval_start_utc, interval_s, applid, transaction_id,
    count(*) filter (where coalesce(record_kind, '') in ('', 'T')) as tasks_ended,
    count(*) filter (where coalesce(record_kind, '') in ('', 'T') and is_origin) as transactions_begun,
    count(*) filter (where coalesce(record_kind, '') in ('', 'T') and abend_code_current <> '') as tasks_abended,
    quantile_cont(response_us, [0.5, 0.9, 0.95, 0.99]) filter (where coalesce(record_kind, '') in ('', 'T')) as percentiles,
    {%- set sums = ['cpu', 'cpu_on_standard_processor', 'offload_eligible_cpu_on_standard_processor', 'response', 'dispatch',
      'suspend', 'file_io_wait', 'rls_io_wait', 'db2_wait', 'ims_dbctl_wait', 'mq_get_wait', 'first_dispatch_delay',
      'redispatch_wait', 'max_open_tcbs_delay', 'jvm_server_thread_wait', 'inter_region_io_wait', 'terminal_io_wait'] %}
    {%- for name in sums %}
    sum({{ name }}_us)::double as {{ name }}_us,
    {%- endfor %}
    max(user_storage_below_peak_bytes) as user_storage_below_peak_bytes,
    max(user_storage_above_peak_bytes) as user_storage_above_peak_bytes
  from {{ ref('int_cics_task') }}
  group by interval_key, system_id, smf_sid, interval_start_utc, interval_s, applid, transaction_id
)

select
  interval_key::varchar as interval_key,
  system_id::varchar as system_id,
  smf_sid::varchar as smf_sid,
  interval_start_utc::timestamp as interval_start_utc,
  interval_s::double as interval_s,
  applid::varchar as applid,
  transaction_id::varchar as transaction_id,
  tasks_ended::bigint as tasks_ended,
  transactions_begun::bigint as transactions_begun,
  tasks_abended::bigint as tasks_abended,
  {{ ratio('tasks_ended', 'interval_s') }}::double as ended_tps,
  (cpu_us / 1e6)::double as cpu_s,
  ((cpu_us - cpu_on_standard_processor_us) / 1e6)::double as ziip_s,
  (offload_eligible_cpu_on_standard_processor_us / 1e6)::double as ziip_on_cp_s,
  {{ ratio('cpu_us', 'tasks_ended') }}::double as cpu_us_per_task,
  (1e-3 * {{ ratio('response_us', 'tasks_ended') }})::double as response_ms,
  (percentiles[1] / 1e3)::double as response_p50_ms,
  (percentiles[2] / 1e3)::double as response_p90_ms,
  (percentiles[3] / 1e3)::double as response_p95_ms,
  (percentiles[4] / 1e3)::double as response_p99_ms,
  {%- for name in sums[4:] %}
  (1e-3 * {{ ratio(name ~ '_us', 'tasks_ended') }})::double as {{ name }}_ms,
  {%- endfor %}
  user_storage_below_peak_bytes::double as user_storage_below_peak_bytes,
  user_storage_above_peak_bytes::double as user_storage_above_peak_bytes
from measured
