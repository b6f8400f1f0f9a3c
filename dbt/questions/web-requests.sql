-- What does a web request cost, and how long does it take?
-- WebSphere and Liberty report the CPU of a request. WebSphere also reports the wait for a servant, z/OS Connect the
-- time of the called system.
select system_id, server_kind, record_version, resource, sum(requests)::bigint as requests,
  round(sum(requests * web_response_ms) / sum(requests), 3) as response_ms,
  round(sum(requests * web_queue_ms)
    / nullif(sum(requests) filter (where web_queue_ms is not null), 0), 3) as queue_ms,
  round(sum(backend_requests * web_backend_ms) / nullif(sum(backend_requests), 0), 3) as backend_ms,
  round(sum(requests * web_cpu_us_per_request)
    / nullif(sum(requests) filter (where web_cpu_us_per_request is not null), 0), 3) as cpu_us_per_request,
  round(sum(cpu_s * web_offload_pct) / nullif(sum(cpu_s), 0), 1) as offload_pct,
  round(sum(requests * web_error_pct)
    / nullif(sum(requests) filter (where web_error_pct is not null), 0), 1) as error_pct
from marts.fct_web_request
group by system_id, server_kind, record_version, resource
order by sum(cpu_s) desc nulls last, requests desc, resource
limit 12
