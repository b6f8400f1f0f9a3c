-- How many regions does a business transaction run in, and what does it cost in all of them?
-- Each is counted once, where it began. `elsewhere` is the part in other regions.
select origin_transaction_id, sum(transactions_begun)::bigint as begun, max(regions) as regions,
  round((sum(transactions_begun) + sum(tasks_elsewhere)) / sum(transactions_begun), 2) as tasks_per_tran,
  round(sum(task_cpu_us_per_tran * transactions_begun) / sum(transactions_begun), 1) as task_cpu_us,
  round(sum(cpu_elsewhere_us_per_tran * transactions_begun) / sum(transactions_begun), 1) as elsewhere_us
from marts.fct_business_transaction
where transactions_begun > 0
group by all
order by begun desc, origin_transaction_id
limit 10
