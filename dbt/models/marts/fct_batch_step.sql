-- Step-end records (SMF 30 subtype 4). Start and end are local times of the system.
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
  s.step_end_local::timestamp as step_end_local,
  (date_diff('millisecond', s.step_start_local, s.step_end_local) / 1e3)::double as elapsed_s,
  s.cp_s::double as cp_s,
  s.ziip_s::double as ziip_s,
  s.ziip_on_cp_s::double as ziip_on_cp_s,
  s.excps::double as excps,
  s.dasd_io_s::double as dasd_io_s,
  (100 * {{ ratio('s.cp_s', "date_diff('millisecond', s.step_start_local, s.step_end_local) / 1e3") }})::double as cpu_pct,
  s.completion_code::integer as completion_code,
  s.is_abend::boolean as is_abend
from {{ ref('int_step') }} s
left join {{ ref('int_owner') }} o using (smf_sid)
