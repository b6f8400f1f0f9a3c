-- Which volumes miss the cache, and what does an I/O to them take?
-- Requests of all systems as counted by the control unit (SMF 74.5), and the response time of this LPAR (74.1).
with cache as (
  select system_id, smf_sid, volume_serial, sum(read_requests) as reads, sum(write_requests) as writes,
    coalesce(sum(read_requests * (1 - cache_read_hit_pct / 100)), 0) as read_misses, sum(delayed_writes) as delayed_writes
  from marts.fct_volume_cache
  group by system_id, smf_sid, volume_serial
),
device as (
  select smf_sid, volume_serial, sum(requests * response_ms) / sum(requests) as response_ms
  from marts.fct_device
  where response_ms is not null
  group by smf_sid, volume_serial
)
select system_id, smf_sid, volume_serial, reads, writes, round(read_misses) as read_misses,
  round(100 * (1 - read_misses / nullif(reads, 0)), 1) as read_hit_pct, delayed_writes,
  round(response_ms, 3) as response_ms
from cache
left join device using (smf_sid, volume_serial)
order by read_misses desc nulls last, smf_sid, volume_serial
limit 12
