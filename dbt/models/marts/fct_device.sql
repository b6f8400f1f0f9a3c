with device as (
  select * from {{ ref('stg_smf74_1_device') }}
),

{{ interval_of('device') }},

{{ run_of_interval('device') }}

select
  coalesce(n.interval_key, {{ interval_key('d.smf_sid', 'd.interval_start_utc', 'd.interval_start_local') }})::varchar
    as interval_key,
  coalesce(n.system_id, r.system_id, o.system_id, d.smf_sid)::varchar as system_id,
  d.smf_sid::varchar as smf_sid,
  coalesce(n.point, r.point)::varchar as point,
  coalesce(n.condition, r.condition)::varchar as condition,
  d.interval_start_utc::timestamp as interval_start_utc,
  d.interval_start_local::timestamp as interval_start_local,
  d.interval_s::double as interval_s,
  d.device_number_text::varchar as device_number,
  nullif(trim(d.volume_serial), '')::varchar as volume_serial,
  d.lcu_number::varchar as lcu_number,
  nullif(trim(d.storage_group), '')::varchar as storage_group,
  d.start_subchannels::double as requests,
  {{ metric('io_per_s', {'ios': 'd.start_subchannels', 'seconds': 'd.interval_s'}) }} as requests_per_s,
  {{ metric('io_response_ms', {'measured_ios': 'd.measured_operations',
    'io_us': 'd.connect_us + d.disconnect_us + d.pending_us + coalesce(d.ios_queue_us, 0)'}) }} as response_ms,
  {{ metric('io_response_ms', {'measured_ios': 'd.measured_operations', 'io_us': 'd.ios_queue_us'}) }} as ios_queue_ms,
  {{ metric('io_response_ms', {'measured_ios': 'd.measured_operations', 'io_us': 'd.pending_us'}) }} as pending_ms,
  {{ metric('io_response_ms', {'measured_ios': 'd.measured_operations', 'io_us': 'd.disconnect_us'}) }} as disconnect_ms,
  {{ metric('io_response_ms', {'measured_ios': 'd.measured_operations', 'io_us': 'd.connect_us'}) }} as connect_ms,
  {{ ratio('d.connect_us + d.disconnect_us', '1e4 * d.interval_s') }}::double as busy_pct
from device d
left join interval_of n on n.smf_sid = d.smf_sid and n.interval_start_utc = d.interval_start_utc
left join run_of_interval r on r.smf_sid = d.smf_sid and r.interval_start_utc = d.interval_start_utc
left join {{ ref('int_owner') }} o on o.smf_sid = d.smf_sid
