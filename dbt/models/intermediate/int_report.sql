-- One row per RMF Postprocessor report that holds data, with the interval it is about. A report carries local time
-- only: where records of the same system start within a second of it, their interval is the report's.
with reports as (
  select *, count(*) over same_report as copies
  from {{ ref('stg_rmf_report') }}
  where status = 'data' and report in ('CPU', 'WLMGL') and interval_start_local is not null
  window same_report as (partition by report, smf_sid, interval_start_local)
  qualify row_number() over (same_report order by file_id, record_seq) = 1
),

-- A report on a sysplex is about the one system of it that has records; about several it is about none of them.
recorded as (
  select r.file_id, r.record_seq, min(i.interval_key) as interval_key, min(i.smf_sid) as smf_sid
  from reports r
  join {{ ref('int_record') }} i
    on (i.smf_sid = r.smf_sid or (r.resource_type = 'SYSPLEX' and i.sysplex_name = r.resource_name))
    and abs(epoch_ms(i.interval_start_local) - epoch_ms(r.interval_start_local)) <= 1000
  group by r.file_id, r.record_seq
  having count(distinct i.smf_sid) = 1
)

select
  r.file_id, r.record_seq, r.report, coalesce(i.smf_sid, r.smf_sid) as smf_sid, r.system_name, r.sysplex_name,
  r.interval_start_local, r.interval_s, r.copies,
  coalesce(i.interval_key, {{ interval_key('r.smf_sid', 'null::timestamp', 'r.interval_start_local') }})
    as interval_key
from reports r
left join recorded i using (file_id, record_seq)
-- The report on the system itself is preferred to that on its sysplex.
qualify row_number() over (
  partition by r.report, coalesce(i.interval_key, r.smf_sid || r.interval_start_local::varchar)
  order by coalesce(r.resource_type, '') = 'SYSPLEX', r.file_id, r.record_seq
) = 1
