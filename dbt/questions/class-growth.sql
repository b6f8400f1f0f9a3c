-- Which service class has grown most since the month before?
-- Mean general CPU of the latest month with records against the month before it, in percent of one CP.
with monthly as (
  select system_id, class_name, date_trunc('month', interval_start_local) as month,
    100 * sum(cp_s) / sum(interval_s) as cpu_pct
  from marts.fct_service_class
  where class_kind = 'service_class'
  group by all
),
steps as (
  select *, lag(cpu_pct) over (partition by system_id, class_name order by month) as before_pct
  from monthly
)
select system_id, class_name, strftime(month, '%Y-%m') as month, round(before_pct, 2) as before_pct,
  round(cpu_pct, 2) as cpu_pct, round(100 * (cpu_pct - before_pct) / nullif(before_pct, 0), 1) as growth_pct
from steps
qualify month = max(month) over (partition by system_id)
order by growth_pct desc nulls last, cpu_pct desc, system_id, class_name
limit 10
