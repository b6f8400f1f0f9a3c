{{ config(materialized='view') }}
-- One row per CICS task record, with the RMF interval it ended in and whether its business transaction began with it.
-- A task without origin data (before CICS 4.1, or of the system) is its own origin. Outside every RMF interval the
-- quarter of an hour stands for one. A task without clocks is one of the time at which its record was written.
with task as (
  select
    smf_sid, applid, transaction_id, record_kind,
    date_diff('microsecond', start_utc, stop_utc) as response_us,
    cpu_us, cpu_on_standard_processor_us, offload_eligible_cpu_on_standard_processor_us, dispatch_us, suspend_us,
    file_io_wait_us, rls_io_wait_us, db2_wait_us, ims_dbctl_wait_us, mq_get_wait_us, first_dispatch_delay_us,
    redispatch_wait_us, max_open_tcbs_delay_us, jvm_server_thread_wait_us, inter_region_io_wait_us, terminal_io_wait_us,
    abend_code_current, user_storage_above_peak_bytes, user_storage_below_peak_bytes, user_storage_64bit_peak_bytes,
    coalesce(nullif(origin_applid, ''), applid) as origin_applid,
    coalesce(nullif(origin_transaction_id, ''), transaction_id) as origin_transaction_id,
    {{ is_origin() }} as is_origin,
    stop_utc is not null as is_timed,
    time_bucket(interval '1 second', coalesce(stop_utc, written_local)) as second
  from {{ source('staging', 'stg_smf110_1_performance') }}
),

moment as (
  select smf_sid, is_timed, second from task group by all
),

placed as (
  select m.smf_sid, m.is_timed, m.second, m.n.interval_key, coalesce(m.n.system_id, o.system_id) as system_id,
    coalesce(m.n.interval_start_utc, time_bucket(interval '15 minutes', m.second)) as interval_start_utc,
    coalesce(m.n.interval_s, 900) as interval_s
  from (
    from {{ with_interval('(from moment where is_timed)', 'second', ref('int_interval'), 'interval_start_utc') }}
    union all
    from {{ with_interval('(from moment where not is_timed)', 'second', ref('int_interval'), 'interval_start_local') }}
  ) m
  left join {{ ref('int_owner') }} o on o.smf_sid = m.smf_sid
)

select t.*, p.interval_key, coalesce(p.system_id, t.smf_sid) as system_id, p.interval_start_utc, p.interval_s
from task t
left join placed p using (smf_sid, is_timed, second)
