-- The control unit counts requests of all systems; each system that records them tells the same. The records do not say the
-- subchannel set of a device, so that only a section of the same figures is a copy; volumes of one name and number add up.
with section as (
  select smf_sid, interval_start_utc, interval_start_local, interval_s, trim(volume_serial) as volume_serial,
    device_number,
    {% for kind in ['read', 'write'] -%}
    {% for what in ['requests', 'hits'] -%}
    coalesce(normal_{{ kind }}_{{ what }}, 0) + coalesce(sequential_{{ kind }}_{{ what }}, 0)
      + coalesce(non_retentive_{{ kind }}_{{ what }}, 0) as {{ kind }}_{{ what }},
    {% endfor -%}
    {% endfor -%}
    fast_writes_delayed_nvs_full
  from {{ first_written(source('staging', 'stg_smf74_5_device'), ['device_number', 'volume_serial', 'normal_read_requests',
    'normal_read_hits', 'normal_write_requests', 'normal_write_hits', 'sequential_read_requests',
    'sequential_write_requests']) }}
),

volume as (
  select smf_sid, interval_start_utc, interval_start_local, volume_serial, device_number, max(interval_s) as interval_s,
    {% for column in ['read_requests', 'read_hits', 'write_requests', 'write_hits', 'fast_writes_delayed_nvs_full'] -%}
    sum({{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from section
  group by smf_sid, interval_start_utc, interval_start_local, volume_serial, device_number
)

select
  {{ interval_key('v.smf_sid', 'v.interval_start_utc', 'v.interval_start_local') }}::varchar as interval_key,
  coalesce(o.system_id, v.smf_sid)::varchar as system_id,
  v.smf_sid::varchar as smf_sid,
  v.interval_start_utc::timestamp as interval_start_utc,
  v.interval_start_local::timestamp as interval_start_local,
  v.interval_s::double as interval_s,
  v.volume_serial::varchar as volume_serial,
  printf('%04X', v.device_number)::varchar as device_number,
  v.read_requests::double as read_requests,
  v.write_requests::double as write_requests,
  (v.fast_writes_delayed_nvs_full)::double as delayed_writes,
  {{ metric('cache_requests_per_s', {'requests': 'v.read_requests + v.write_requests', 'seconds': 'v.interval_s'}) }}
    as cache_requests_per_s,
  {{ metric('cache_read_hit_pct') }} as cache_read_hit_pct,
  {{ metric('cache_write_hit_pct') }} as cache_write_hit_pct
from volume v
left join {{ ref('int_owner') }} o using (smf_sid)
