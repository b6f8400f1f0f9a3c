-- What do transactions wait for?
-- Mean milliseconds of a task, the ten transactions with the most time spent.
select transaction_id, sum(tasks_ended)::bigint as tasks, round(sum(response_ms * tasks_ended) / sum(tasks_ended), 3) as response_ms,
  round(sum(dispatch_ms * tasks_ended) / sum(tasks_ended), 3) as dispatch_ms,
  round(sum(first_dispatch_delay_ms * tasks_ended) / sum(tasks_ended), 3) as first_dispatch_ms,
  round(sum(redispatch_wait_ms * tasks_ended) / sum(tasks_ended), 3) as redispatch_ms,
  round(sum(file_io_wait_ms * tasks_ended) / sum(tasks_ended), 3) as file_io_ms,
  round(max(response_p95_ms), 3) as worst_p95_ms
from marts.fct_cics_transaction
where tasks_ended > 0
group by transaction_id
order by sum(fct_cics_transaction.response_ms * tasks_ended) desc, transaction_id
limit 10
