-- Step-end records (SMF 30 subtype 4). Start and end are local times of the system; where its clocks were set in between, elapsed
-- time is what passed. An end in the hour that clocks repeat may be in the first or the second: the earlier one is taken.
with steps as (
  select s.*,
    date_diff('millisecond', s.step_start_local, s.step_end_local) / 1e3
    - case
      when s.step_end_local < e.from_local + to_seconds((e.before_s - e.ahead_s)::bigint)
        then if(s.step_end_local < s.step_start_local, e.ahead_s - e.before_s, 0)
      else coalesce(e.ahead_s - b.ahead_s, 0)
    end as elapsed_s
  from {{ ref('int_step') }} s
  asof left join {{ ref('int_utc_offset') }} b on b.smf_sid = s.smf_sid and b.from_local <= s.step_start_local
  asof left join {{ ref('int_utc_offset') }} e on e.smf_sid = s.smf_sid and e.from_local <= s.step_end_local
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
  s.step_end_local::timestamp as step_end_local,
  s.elapsed_s::double as elapsed_s,
  s.cp_s::double as cp_s,
  s.ziip_s::double as ziip_s,
  s.ziip_on_cp_s::double as ziip_on_cp_s,
  s.excps::double as excps,
  s.dasd_io_s::double as dasd_io_s,
  (100 * {{ ratio('s.cp_s', 's.elapsed_s') }})::double as cpu_pct,
  s.completion_code::integer as completion_code,
  s.is_abend::boolean as is_abend
from steps s
left join {{ ref('int_owner') }} o using (smf_sid)
