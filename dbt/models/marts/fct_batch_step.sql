-- Step-end records (SMF 30 subtype 4), each counted once. Start and end are local times of the system.
with step as (
  select
    h.smf_sid, h.written_local, i.job_name, i.jes_job_id, i.step_name, i.step_number, i.program_name,
    i.step_start_date + to_microseconds(i.step_start_clock_us::bigint) as step_start_local,
    nullif(trim(p.service_class), '') as service_class,
    nullif(trim(p.report_class), '') as report_class,
    {{ address_space_cp_s('c') }} as cp_s,
    c.ziip_us / 1e6 as ziip_s,
    c.ziip_on_cp_us / 1e6 as ziip_on_cp_s,
    coalesce(nullif(o.excps, 0), o.excps_4byte) as excps,
    o.dasd_connect_us / 1e6 as dasd_connect_s,
    o.dasd_disconnect_us / 1e6 as dasd_disconnect_s,
    o.dasd_wait_us / 1e6 as dasd_pending_s,
    e.completion_code, e.is_abend
  from {{ source('staging', 'stg_smf30_header') }} h
  join {{ source('staging', 'stg_smf30_identification') }} i using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf30_cpu') }} c using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf30_io') }} o using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf30_performance') }} p using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf30_completion') }} e using (file_id, record_seq)
  where h.subtype = 4
  qualify row_number() over (
    partition by h.smf_sid, i.job_name, i.jes_job_id, i.step_number, i.step_name, h.written_local
    order by h.file_id, h.record_seq
  ) = 1
)

select
  coalesce(o.system_id, s.smf_sid)::varchar as system_id,
  s.smf_sid::varchar as smf_sid,
  trim(s.job_name)::varchar as job_name,
  trim(s.jes_job_id)::varchar as jes_job_id,
  s.step_number::integer as step_number,
  trim(s.step_name)::varchar as step_name,
  trim(s.program_name)::varchar as program_name,
  s.service_class::varchar as service_class,
  s.report_class::varchar as report_class,
  s.step_start_local::timestamp as step_start_local,
  s.written_local::timestamp as step_end_local,
  (date_diff('millisecond', s.step_start_local, s.written_local) / 1e3)::double as elapsed_s,
  s.cp_s::double as cp_s,
  s.ziip_s::double as ziip_s,
  s.ziip_on_cp_s::double as ziip_on_cp_s,
  s.excps::double as excps,
  (s.dasd_connect_s + s.dasd_disconnect_s + s.dasd_pending_s)::double as dasd_io_s,
  (100 * {{ ratio('s.cp_s', "date_diff('millisecond', s.step_start_local, s.written_local) / 1e3") }})::double as cpu_pct,
  s.completion_code::integer as completion_code,
  s.is_abend::boolean as is_abend
from step s
left join {{ ref('int_owner') }} o using (smf_sid)
