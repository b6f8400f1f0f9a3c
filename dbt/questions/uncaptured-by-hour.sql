-- How much CPU is uncaptured, hour by hour?
-- Busy time of the engines that no service class was charged with, in percent of one CP and of the busy time.
select system_id, smf_sid, hour_local, round(sum(busy_s), 1) as busy_s, round(sum(uncaptured_s), 1) as uncaptured_s,
  round(100 * sum(uncaptured_s) / sum(interval_s), 2) as uncaptured_cpu_pct,
  round(sum(captured_s) / sum(busy_s), 4) as capture_ratio
from marts.fct_uncaptured
group by all
order by system_id, smf_sid, hour_local
limit 12
