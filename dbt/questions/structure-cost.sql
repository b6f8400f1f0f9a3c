-- What do coupling facility structures cost?
-- A CP waits for every synchronous request, so its service time is CPU. It is given in percent of one CP of the LPAR
-- and per transaction.
with structure as (
  select *, requests * sync_pct / 100 as sync_requests, requests - requests * sync_pct / 100 as async_requests
  from marts.fct_coupling_facility
)
select system_id, smf_sid, structure_name, round(sum(requests) / sum(interval_s), 1) as requests_per_s,
  round(100 * sum(sync_requests) / nullif(sum(requests), 0), 1) as sync_pct,
  round(sum(sync_requests * sync_service_us) / nullif(sum(sync_requests), 0), 1) as sync_service_us,
  round(sum(async_requests * async_service_us) / nullif(sum(async_requests), 0), 1) as async_service_us,
  round(sum(interval_s * sync_cpu_pct) / sum(interval_s), 2) as sync_cpu_pct,
  round(avg(requests_per_tran), 2) as requests_per_tran
from structure
group by system_id, smf_sid, structure_name
order by sync_cpu_pct desc nulls last, smf_sid, structure_name
limit 12
