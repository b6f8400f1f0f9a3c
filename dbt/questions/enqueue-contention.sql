-- Which resources do jobs wait for, how often and how long?
select system_id, major_name, minor_name, is_systems_scope, sum(contentions) as contentions,
  round(sum(contention_s), 3) as contention_s,
  round(sum(contention_s) / nullif(sum(contentions), 0), 3) as contention_mean_s,
  round(max(contention_max_ms) / 1e3, 3) as contention_max_s, max(waiters_max) as waiters_max
from marts.fct_enqueue
group by system_id, major_name, minor_name, is_systems_scope
order by contention_s desc, major_name, minor_name
limit 12
