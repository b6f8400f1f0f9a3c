-- Batch steps that ended (SMF 30 subtype 4), each once however often its record was found, and however many further records
-- have the rest of its data definitions. Start and end are local times of the system.
select
  h.file_id, h.record_seq, h.smf_sid, i.job_name, i.jes_job_id, i.step_number, i.step_name, i.program_name,
  i.step_start_date + to_microseconds(i.step_start_clock_us::bigint) as step_start_local,
  h.written_local as step_end_local,
  nullif(trim(p.service_class), '') as service_class,
  nullif(trim(p.report_class), '') as report_class,
  {{ address_space_cp_s('c') }} as cp_s,
  c.ziip_us / 1e6 as ziip_s,
  c.ziip_on_cp_us / 1e6 as ziip_on_cp_s,
  coalesce(nullif(o.excps, 0), o.excps_4byte) as excps,
  (o.dasd_connect_us + o.dasd_disconnect_us + o.dasd_wait_us) / 1e6 as dasd_io_s,
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
  order by c.cpu_tcb_us is null, h.file_id, h.record_seq
) = 1
