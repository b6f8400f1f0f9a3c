-- Which classes miss their goal?
-- Every class period with a performance index, the worst first, with the share of intervals above 1. Importance 1 is
-- the highest.
select system_id, smf_sid, class_name, period_number, importance, goal_kind,
  coalesce(goal_ms::varchar || ' ms', goal_velocity_pct::varchar || ' %') as goal,
  round(sum(response_ms * transactions_ended) / nullif(sum(transactions_ended), 0), 3) as response_ms,
  round(avg(velocity_pct), 1) as velocity_pct, round(max(performance_index), 3) as worst_index,
  arg_max(interval_start_local, performance_index) as worst_at,
  round(100.0 * count(*) filter (where performance_index > 1) / count(*), 0) as missed_pct
from marts.fct_service_class
where goal_kind in ('average response', 'percentile response', 'velocity') and class_kind = 'service_class'
  and performance_index is not null
group by all
order by missed_pct desc nulls last, importance, worst_index desc nulls last, system_id, smf_sid, class_name, period_number
