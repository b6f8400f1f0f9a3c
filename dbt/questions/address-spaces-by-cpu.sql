-- Which address spaces use the most CPU?
-- SMF 30 interval records; CPU in percent of one CP over the recorded time.
select system_id, name as job_name, address_space_group, round(sum(cp_s), 1) as cp_s,
  round(100 * sum(cp_s) / sum(seconds), 2) as cpu_pct, round(sum(ziip_s), 1) as ziip_s
from marts.fct_address_space_cost
where cost_kind = 'job'
group by all
order by cp_s desc, system_id, job_name
limit 10
