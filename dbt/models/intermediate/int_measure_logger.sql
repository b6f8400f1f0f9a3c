-- Writes to log streams; the subject is the log stream. A logger record holds the end of its interval only: the time of a
-- run is divided over the records found in it. LPARs are taken together: writes add up, seconds pass once.
with stream as (
  select r.system_id, r.point, r.condition, trim(s.log_stream) as subject, s.writes,
    epoch(r.end_utc - r.start_utc) / count(*) over log_stream as seconds,
    row_number() over (log_stream order by s.interval_end_utc) as position
  from {{ ref('stg_smf88_log_stream') }} s
  join {{ ref('int_run') }} r
    on r.smf_sid = s.smf_sid and s.interval_end_utc > r.start_utc and s.interval_end_utc <= r.end_utc
  window log_stream as (partition by r.system_id, r.point, r.condition, s.smf_sid, trim(s.log_stream))
)

select system_id, point, condition, true as is_run, position, max(seconds) as seconds, null::varchar as workload,
  subject, 'log_writes_per_s' as metric, '1/s' as unit, 'ratio' as aggregation, 1.0::double as scale,
  sum(writes)::double as numerator, max(seconds)::double as denominator
from stream
group by system_id, point, condition, position, subject
