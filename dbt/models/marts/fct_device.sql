with device as (
  select
    k.interval_key, min(k.system_id) as system_id, k.smf_sid, min(k.point) as point, min(k.condition) as condition,
    min(k.interval_start_utc) as interval_start_utc, min(k.interval_start_local) as interval_start_local,
    sum(k.share * k.recorded_s) as interval_s,
    coalesce(d.subchannel_set, 0) as subchannel_set, d.device_number,
    max(nullif(trim(d.volume_serial), '')) as volume_serial,
    max(d.lcu_number) as lcu_number,
    max(nullif(trim(d.storage_group), '')) as storage_group,
    {% for column in ['start_subchannels', 'measured_operations', 'connect_us', 'disconnect_us', 'pending_us',
        'ios_queue_us'] -%}
    sum(k.share * d.{{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from {{ first_written(source('staging', 'stg_smf74_1_device'), ['subchannel_set', 'device_number']) }} d
  join {{ ref('int_interval_share') }} k
    on k.smf_sid = d.smf_sid and {{ same_start('k.recorded_start', 'd.interval_start') }} and k.recorded_s = d.interval_s
  group by k.interval_key, k.smf_sid, coalesce(d.subchannel_set, 0), d.device_number
)

select
  {{ interval_identity() }},
  subchannel_set::integer as subchannel_set,
  device_number::varchar as device_number,
  volume_serial::varchar as volume_serial,
  lcu_number::varchar as lcu_number,
  storage_group::varchar as storage_group,
  start_subchannels::double as requests,
  {{ metric('io_per_s', {'ios': 'start_subchannels', 'seconds': 'interval_s'}) }} as requests_per_s,
  {{ metric('io_response_ms', {'measured_ios': 'measured_operations',
    'io_us': 'connect_us + disconnect_us + pending_us + coalesce(ios_queue_us, 0)'}) }} as response_ms,
  {% for name, column in [('ios_queue', 'ios_queue_us'), ('pending', 'pending_us'), ('disconnect', 'disconnect_us'),
      ('connect', 'connect_us')] -%}
  {{ metric('io_response_ms', {'measured_ios': 'measured_operations', 'io_us': column}) }} as {{ name }}_ms,
  {% endfor -%}
  {{ ratio('connect_us + disconnect_us', '1e4 * interval_s') }}::double as busy_pct
from device
