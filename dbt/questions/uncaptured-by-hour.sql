-- How much CPU is uncaptured, by hour of the day?
-- Busy time of the engines that was charged to no service class, in percent of one CP and of the busy time. Means of
-- all recorded days, and the day with the highest value.
with hourly as (
  select system_id, smf_sid, hour_local, sum(busy_s) as busy_s, sum(captured_s) as captured_s,
    sum(uncaptured_s) as uncaptured_s, sum(interval_s) as interval_s
  from marts.fct_uncaptured
  where captured_s is not null
  group by all
)
select system_id, smf_sid, extract(hour from hour_local) as hour_of_day, count(*) as days,
  round(100 * sum(uncaptured_s) / sum(interval_s), 2) as uncaptured_cpu_pct,
  round(sum(captured_s) / nullif(sum(busy_s), 0), 4) as capture_ratio,
  round(min(captured_s / nullif(busy_s, 0)), 4) as lowest_capture_ratio,
  arg_min(hour_local::date, captured_s / nullif(busy_s, 0)) as lowest_on
from hourly
group by all
order by system_id, smf_sid, hour_of_day
