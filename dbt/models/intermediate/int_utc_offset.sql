-- How far the local time of each system is ahead of UTC, as RMF records say, and from which local time on: a month in which
-- clocks are changed has two. What comes before the first of these records has its offset. before_s: the offset before, NULL in
-- the first row; clocks that are put back repeat the local times of before_s - ahead_s seconds. Start times have whole seconds in local
-- time and microseconds in UTC: what differs by less than a minute is one offset.
select
  smf_sid,
  case when before_s is null then '-infinity'::timestamp else interval_start_local end as from_local,
  ahead_s,
  before_s
from (
  select smf_sid, interval_start_utc, interval_start_local, ahead_s,
    lag(ahead_s) over (partition by smf_sid order by interval_start_utc) as before_s
  from (
    select smf_sid, interval_start_utc, interval_start_local,
      date_diff('second', interval_start_utc, interval_start_local) as ahead_s
    from {{ ref('int_interval') }}
    where interval_start_utc is not null and interval_start_local is not null
  )
)
where before_s is null or abs(ahead_s - before_s) >= 60
-- Where two offsets begin at one local time (two systems of one name, a clock that was tried out), the later holds.
qualify row_number() over (partition by smf_sid, from_local order by interval_start_utc desc) = 1
