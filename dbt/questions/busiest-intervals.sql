-- When were the engines busiest?
-- The five busiest intervals of any system, CPs only.
select system_id, smf_sid, interval_start_local, engines, round(cpu_busy_pct, 2) as cpu_busy_pct,
  round(mvs_busy_pct, 2) as mvs_busy_pct
from marts.fct_interval_utilization
where engine_type = 'CP'
order by fct_interval_utilization.cpu_busy_pct desc, interval_start_local
limit 5
