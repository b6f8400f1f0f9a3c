-- Every interval known from records or reports, with the system and the measured point it belongs to: outside
-- measured runs, the only system that a groups file names the identifier for.
-- A report carries local time only: where records of the same system start within a second, it is the same interval.
with recorded as (
  select
    interval_key,
    smf_sid,
    max(sysplex_name) as sysplex_name,
    max(system_name) as system_name,
    min(interval_start_utc) as interval_start_utc,
    min(interval_start_local) as interval_start_local,
    max(interval_s) as interval_s,
    max(ipl_utc) as ipl_utc,
    max(cpc_serial) as cpc_serial,
    max(copies) as copies
  from {{ ref('int_record') }}
  group by interval_key, smf_sid
),

reported as (
  select
    r.interval_key,
    r.smf_sid,
    max(r.sysplex_name) as sysplex_name,
    max(r.system_name) as system_name,
    null::timestamp as interval_start_utc,
    r.interval_start_local,
    max(r.interval_s) as interval_s,
    max(r.copies) as copies
  from {{ ref('int_report') }} r
  anti join recorded using (interval_key)
  group by r.interval_key, r.smf_sid, r.interval_start_local
),

intervals as (
  select *, 'record' as source from recorded
  union all by name
  select *, 'report' as source from reported
),

run_of as (
  select i.interval_key, r.system_id, r.point, r.condition
  from intervals i
  join {{ ref('int_run') }} r on {{ in_run('r', 'i.smf_sid', 'i.interval_start_utc', 'i.interval_s') }}
  qualify row_number() over (partition by i.interval_key order by r.start_utc desc, r.system_id, r.point) = 1
)

select
  i.interval_key,
  coalesce(r.system_id, o.system_id, i.smf_sid) as system_id,
  i.smf_sid,
  i.sysplex_name,
  i.system_name,
  i.cpc_serial,
  r.point,
  r.condition,
  i.interval_start_utc,
  i.interval_start_local,
  i.interval_s,
  i.ipl_utc,
  i.source,
  i.copies
from intervals i
left join run_of r using (interval_key)
left join {{ named_system() }} o on o.smf_sid = i.smf_sid
