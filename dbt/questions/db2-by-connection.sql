-- What does a Db2 commit cost by connection and plan, and what does it wait for?
-- Class 1 is the whole thread, class 2 its time in Db2. Waits are parts of class 2 time.
select system_id, db2_subsystem, connection_name, plan_name, sum(commits) as commits,
  round(sum(commits * db2_cpu_us_per_commit) / nullif(sum(commits), 0), 3) as cpu_us_per_commit,
  round(sum(commits * db2_class2_cpu_us_per_commit) / nullif(sum(commits), 0), 3) as class2_cpu_us_per_commit,
  round(sum(commits * db2_class2_elapsed_ms_per_commit) / nullif(sum(commits), 0), 3) as class2_ms_per_commit,
  round(sum(commits * db2_class2_elapsed_ms_per_commit * db2_sync_io_wait_pct)
    / nullif(sum(commits * db2_class2_elapsed_ms_per_commit), 0), 1) as io_wait_pct,
  round(sum(commits * db2_class2_elapsed_ms_per_commit * db2_lock_wait_pct)
    / nullif(sum(commits * db2_class2_elapsed_ms_per_commit), 0), 1) as lock_wait_pct
from marts.fct_db2_accounting
group by system_id, db2_subsystem, connection_name, plan_name
order by sum(commits * db2_cpu_us_per_commit) desc nulls last, connection_name, plan_name
limit 12
