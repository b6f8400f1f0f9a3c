-- Which batch steps took longest, and was it CPU?
-- A step with much elapsed time and little CPU waits: for I/O, for data sets, or for an initiator.
select system_id, job_name, step_name, program_name, round(elapsed_s, 1) as elapsed_s, round(cp_s, 2) as cp_s,
  round(cpu_pct, 2) as cpu_pct, excps
from marts.fct_batch_step
order by fct_batch_step.elapsed_s desc, job_name, step_name
limit 10
