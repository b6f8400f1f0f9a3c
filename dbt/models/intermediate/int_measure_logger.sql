-- Writes to log streams; the subject is the log stream. A logger record holds the end of its interval only: what the
-- records that end in a run say counts over the whole of it. LPARs are taken together: writes add up, seconds pass once.
with run as (
  select system_id, point, condition, epoch(max(end_utc) - min(start_utc)) as seconds
  from {{ ref('int_run') }}
  group by all
)

select u.system_id, u.point, u.condition, true as is_run, 1 as position, u.seconds, null::varchar as workload,
  trim(s.log_stream) as subject, unnest({{ measures_of('log_stream') }}, recursive := true)
from {{ first_written(source('staging', 'stg_smf88_log_stream'), ['log_stream'], 'interval_end_utc') }} s
join {{ ref('int_run') }} r
  on r.smf_sid = s.smf_sid and s.interval_end_utc > r.start_utc and s.interval_end_utc <= r.end_utc
join run u on u.system_id = r.system_id and u.point = r.point and u.condition = r.condition
group by u.system_id, u.point, u.condition, u.seconds, trim(s.log_stream)
