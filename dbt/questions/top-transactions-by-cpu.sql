-- Which ten CICS transactions use the most CPU?
-- Every task of every region counts; `share_pct` is of all CICS tasks recorded.
select transaction_id, sum(tasks_ended)::bigint as tasks, round(sum(cpu_s), 3) as cpu_s,
  round(1e6 * sum(cpu_s) / sum(tasks_ended), 1) as cpu_us_per_task,
  round(100 * sum(cpu_s) / sum(sum(cpu_s)) over (), 1) as share_pct
from marts.fct_cics_transaction
group by transaction_id
order by cpu_s desc, transaction_id
limit 10
