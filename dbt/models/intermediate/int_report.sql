-- One row per RMF Postprocessor report that holds data, with the interval it is about. A report carries local time
-- only: where records of the same system start within a second of it, their interval is the report's.
with report as (
  select r.* replace (coalesce(n.name, r.smf_sid) as smf_sid)
  from {{ ref('stg_rmf_report') }} r
  left join {{ source('meta', 'system_name') }} n
    on n.file_id is null and n.smf_sid = r.smf_sid and n.sysplex_name = r.sysplex_name
),

reports as (
  select *, count(*) over same_report as copies
  from report
  where status = 'data' and report in ('CPU', 'WLMGL') and interval_start_local is not null
  window same_report as (partition by report, smf_sid, interval_start_local)
  qualify row_number() over (same_report order by file_id, record_seq) = 1
),

-- A report on a sysplex is about the one system of it that has records; about several it is about none of them.
interval_name as (
  select interval_key, smf_sid, interval_start_local, date_trunc('second', interval_start_local) as second,
    unnest([{'of': 'system', 'name': smf_sid}, {'of': 'sysplex', 'name': sysplex_name}]) as about
  from (select distinct interval_key, smf_sid, sysplex_name, interval_start_local from {{ ref('int_record') }})
),

report_name as (
  select file_id, record_seq, interval_start_local,
    date_trunc('second', interval_start_local) + to_seconds(unnest([-1, 0, 1])) as second, about
  from (
    select *, unnest([{'of': 'system', 'name': smf_sid},
      case when resource_type = 'SYSPLEX' then {'of': 'sysplex', 'name': resource_name} end]) as about
    from reports
  )
),

recorded as (
  select r.file_id, r.record_seq, min(i.interval_key) as interval_key, min(i.smf_sid) as smf_sid
  from report_name r
  join interval_name i using (about, second)
  where abs(epoch_ms(i.interval_start_local) - epoch_ms(r.interval_start_local)) <= 1000
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
