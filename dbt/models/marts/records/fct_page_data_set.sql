select
  {{ interval_key('d.smf_sid', 'd.interval_start_utc', 'd.interval_start_local') }}::varchar as interval_key,
  coalesce(o.system_id, d.smf_sid)::varchar as system_id,
  d.smf_sid::varchar as smf_sid,
  d.interval_start_utc::timestamp as interval_start_utc,
  d.interval_start_local::timestamp as interval_start_local,
  d.interval_s::double as interval_s,
  trim(d.page_data_set_name)::varchar as data_set_name,
  trim(d.volume_serial)::varchar as volume_serial,
  d.slots_in_data_set::double as slots,
  d.most_slots_used::double as slots_used_max,
  d.pages_transferred::double as pages,
  {{ metric('page_slots_used_pct', {'slots_used': 'coalesce(d.average_slots_used_floating, d.average_slots_used)',
    'slots': 'd.slots_in_data_set'}) }} as page_slots_used_pct,
  {{ metric('page_data_set_busy_pct', {'samples_in_use': 'd.in_use_samples', 'samples': 'p.sample_count'}) }}
    as page_data_set_busy_pct,
  {{ metric('pages_per_s', {'pages': 'd.pages_transferred', 'seconds': 'd.interval_s'}) }} as pages_per_s,
  {{ metric('page_transfer_ms', {'samples_in_use': 'd.in_use_samples', 'samples': 'p.sample_count',
    'seconds': 'd.interval_s', 'pages': 'd.pages_transferred'}) }} as page_transfer_ms
from {{ first_written(source('staging', 'stg_smf75_page_data_set'), ['page_data_set_name']) }} d
join {{ source('staging', 'stg_smf75_product') }} p using (file_id, record_seq)
left join {{ ref('int_owner') }} o on o.smf_sid = d.smf_sid
