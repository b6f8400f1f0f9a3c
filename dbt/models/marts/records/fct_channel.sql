{%- set columns = {'share': '1', 'seconds': 'any_value(c.interval_s)', 'interval_s': 'c.interval_s'} -%}
select
  {{ interval_key('c.smf_sid', 'c.interval_start_utc', 'c.interval_start_local') }}::varchar as interval_key,
  coalesce(o.system_id, c.smf_sid)::varchar as system_id,
  c.smf_sid::varchar as smf_sid,
  c.interval_start_utc::timestamp as interval_start_utc,
  c.interval_start_local::timestamp as interval_start_local,
  c.interval_s::double as interval_s,
  c.chpid::varchar as chpid,
  trim(c.channel_type)::varchar as channel_type,
  {{ metric('channel_busy_pct', columns) }} as channel_busy_pct,
  {{ metric('partition_channel_busy_pct', columns) }} as partition_channel_busy_pct,
  {{ metric('channel_bus_pct', columns) }} as channel_bus_pct,
  {{ metric('channel_read_bytes_per_s', columns) }} as channel_read_bytes_per_s,
  {{ metric('partition_channel_read_bytes_per_s', columns) }} as partition_channel_read_bytes_per_s,
  {{ metric('channel_write_bytes_per_s', columns) }} as channel_write_bytes_per_s,
  {{ metric('partition_channel_write_bytes_per_s', columns) }} as partition_channel_write_bytes_per_s
from {{ channel_paths(source('staging', 'stg_smf73_channel')) }} c
left join {{ ref('int_owner') }} o on o.smf_sid = c.smf_sid
group by all
