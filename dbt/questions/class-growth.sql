-- Which service class has grown most?
-- Mean CP time of the latest days with records, against the same number of days before, in percent of one CP. The
-- period is four weeks, or as many whole weeks as fit twice, or half of the days. A class that began, ended or was
-- renamed in that time has no growth.
with day_of_system as (
  select system_id, smf_sid, interval_start_local::date as day, sum(interval_s) as seconds
  from marts.dim_interval
  group by all
),
span as (
  select system_id, smf_sid, min(day) as first_day, max(day) as last_day, date_diff('day', min(day), max(day)) + 1 as days_known,
    case when days_known >= 14 then 7 * least(days_known // 14, 4) else greatest(days_known // 2, 1) end as days
  from day_of_system
  group by all
),
compared as (
  select d.*, s.days, s.last_day, d.day > s.last_day - s.days::integer as is_latest
  from day_of_system d
  join span s using (system_id, smf_sid)
  where d.day > s.last_day - 2 * s.days::integer
),
half as (
  select system_id, smf_sid, is_latest, days, sum(seconds) as seconds
  from compared
  group by all
),
class_half as (
  select c.system_id, c.smf_sid, c.is_latest, f.class_name, sum(f.cp_s) as cp_s,
    min(c.day) filter (where f.cp_s > 0) as first_day, max(c.day) filter (where f.cp_s > 0) as last_day
  from compared c
  join marts.fct_service_class f
    on f.system_id = c.system_id and f.smf_sid = c.smf_sid and f.interval_start_local::date = c.day
  where f.class_kind = 'service_class'
  group by all
),
class_used as (
  select system_id, smf_sid, class_name, h.days,
    max(cp_s / seconds) filter (where not is_latest) as before, max(cp_s / seconds) filter (where is_latest) as latest,
    min(first_day) as first_day, max(last_day) as last_day
  from class_half
  join half h using (system_id, smf_sid, is_latest)
  group by all
)
select system_id, smf_sid, class_name, u.days, round(100 * before, 2) as before_pct, round(100 * latest, 2) as cpu_pct,
  if(u.first_day >= greatest(s.first_day, s.last_day - 2 * u.days::integer + 1) + least(u.days, 7)::integer, u.first_day,
    null) as begun,
  if(u.last_day <= s.last_day - least(u.days, 7)::integer, u.last_day, null) as ended,
  case when begun is null and ended is null then round(100 * (latest / nullif(before, 0) - 1), 1) end as growth_pct
from class_used u
join span s using (system_id, smf_sid)
order by begun is null and ended is null, growth_pct desc nulls last, cpu_pct desc nulls last, system_id, class_name
limit 10
