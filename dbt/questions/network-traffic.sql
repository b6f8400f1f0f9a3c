-- Who moves the most data over TCP/IP?
-- Bytes of connections that ended and of files that were transferred, by address space or user.
select system_id, traffic_kind, name, sum(ended)::bigint as ended,
  round((coalesce(sum(received_bytes), 0) + coalesce(sum(sent_bytes), 0)) / 1048576, 1) as mb,
  round(avg(transfer_kb_per_s), 1) as transfer_kb_per_s, round(avg(cpu_us_per_kb), 3) as cpu_us_per_kb
from marts.fct_network_traffic
group by all
order by mb desc, system_id, name
limit 10
