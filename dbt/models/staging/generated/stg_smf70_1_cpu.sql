select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf70sid, chr(0) || ' ') as smf_sid,
  header.smf70dte + to_microseconds(header.smf70tme::BIGINT * 10000) as written_local,
  product.smf70dat + to_seconds(product.smf70ist::BIGINT // 10000 * 3600 + product.smf70ist::BIGINT // 100 % 100 * 60 + product.smf70ist::BIGINT % 100) as interval_start_local,
  epoch_us(product.smf70iet) / 1e6 - (product.smf70int // 100000 * 60 + product.smf70int % 100000 / 1000::DOUBLE) - epoch_us(interval_start_local - to_microseconds(product.smf70lgo // 4096)) / 1e6 as store_clock_ahead_s,
  interval_start_local - to_microseconds(product.smf70lgo // 4096) + case when abs(store_clock_ahead_s) < 12600 then to_minutes(30 * round(store_clock_ahead_s / 1800)::BIGINT) else interval '0' minute end as interval_start_utc,
  product.smf70int // 100000 * 60 + product.smf70int % 100000 / 1000::DOUBLE as interval_s,
  rtrim(product.smf70xnm, chr(0) || ' ') as sysplex_name,
  rtrim(product.smf70snm, chr(0) || ' ') as system_name,
  section.smf70wat / 4096::DOUBLE as wait_us,
  section.smf70cid::BIGINT as cpu_address,
  section.smf70cnf::BIGINT as configuration_flags,
  (section.smf70cnf & 4) <> 0 as is_parked_now,
  (section.smf70cnf & 2) <> 0 as configuration_changed,
  (section.smf70cnf & 1) <> 0 as is_online,
  hex(section.smf70ser) as serial_number,
  section.smf70typ::BIGINT as cpu_type_code,
  section.smf70slh::BIGINT as io_interrupts_slih,
  section.smf70tpi::BIGINT as io_interrupts_tpi,
  section.smf70vfs::BIGINT as vector_samples,
  section.smf70v::BIGINT as vector_flags,
  section.smf70pat / 4096::DOUBLE as parked_us,
  try_cast(section.smf70tcb as BIGINT) as tcb_dispatches,
  try_cast(section.smf70srb as BIGINT) as srb_dispatches,
  try_cast(section.smf70nio as BIGINT) as ios,
  try_cast(section.smf70sig as BIGINT) as signals,
  try_cast(section.smf70wtd as BIGINT) as wait_dispatches,
  section.smf70wts::BIGINT as warning_tracks_taken,
  section.smf70wtu::BIGINT as warning_tracks_missed,
  section.smf70wti::BIGINT as warning_track_yield_ms
from {{ source('raw', 'smf70_1_cpu') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf70_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
left join {{ source('raw', 'smf70_1_product') }} as product
  on product.file_id = section.file_id and product.record_seq = section.record_seq and product.section_seq = 0
