-- What would each measured system do at 100 % busy?
-- ITR with its standard error from the variation between intervals.
-- needs: measured points, which a runs file names (docs/loading.md)
select system_id, point, workload, engines, round(etr_tps, 2) as etr_tps, round(cpu_busy_pct, 2) as cpu_busy_pct,
  round(itr_tps, 2) as itr_tps, round(itr_tps_se, 2) as itr_tps_se
from marts.fct_point
where is_run and itr_tps is not null
order by fct_point.itr_tps desc, system_id, point
limit 12
