-- Which channel paths are busiest, and how much of it is the LPAR's own work?
-- Mean and busiest interval of the recorded time. Figures of the CPC are empty if only the LPAR was measured.
select system_id, smf_sid, chpid, channel_type,
  round(sum(channel_busy_pct * interval_s) / sum(interval_s) filter (where channel_busy_pct is not null), 3) as busy_pct,
  round(sum(partition_channel_busy_pct * interval_s)
    / sum(interval_s) filter (where partition_channel_busy_pct is not null), 3) as own_busy_pct,
  round(max(channel_busy_pct), 3) as busy_max_pct,
  arg_max(interval_start_local, coalesce(channel_busy_pct, partition_channel_busy_pct)) as busiest_at,
  round(max(channel_bus_pct), 3) as bus_max_pct,
  round(max(coalesce(channel_read_bytes_per_s, partition_channel_read_bytes_per_s)) / 1e6, 3) as read_max_mb_per_s,
  round(max(coalesce(channel_write_bytes_per_s, partition_channel_write_bytes_per_s)) / 1e6, 3) as write_max_mb_per_s
from marts.fct_channel
group by system_id, smf_sid, chpid, channel_type
order by coalesce(busy_pct, own_busy_pct) desc nulls last, write_max_mb_per_s desc nulls last, smf_sid, chpid
limit 12
