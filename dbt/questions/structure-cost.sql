-- What do coupling facility structures cost?
-- A CP waits for every synchronous request: its service time is CPU, here in percent of one CP and by transaction.
select system_id, structure_name, round(sum(requests) / sum(interval_s), 1) as requests_per_s,
  round(avg(sync_pct), 1) as sync_pct, round(avg(sync_service_us), 1) as sync_service_us,
  round(avg(async_service_us), 1) as async_service_us, round(avg(sync_cpu_pct), 2) as sync_cpu_pct,
  round(avg(requests_per_tran), 2) as requests_per_tran
from marts.fct_coupling_facility
group by all
order by sync_cpu_pct desc nulls last, structure_name
limit 12
