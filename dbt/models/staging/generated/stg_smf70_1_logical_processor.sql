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
  try_cast(section.smf70pdt as BIGINT) as total_dispatch_us,
  section.smf70vpa::BIGINT as logical_processor_address,
  section.smf70bps::BIGINT as weight,
  section.smf70vpf::BIGINT as logical_processor_flags,
  (section.smf70vpf & 128) <> 0 as is_wait_completion,
  (section.smf70vpf & 16) <> 0 as is_initially_capped,
  section.smf70pof::BIGINT as polarisation_flags,
  ((section.smf70pof >> 6) & 3)::INTEGER as polarisation_code,
  section.smf70cix::BIGINT as cpu_identification_index,
  try_cast(section.smf70edt as BIGINT) as effective_dispatch_us,
  section.smf70acs::BIGINT as weight_sum,
  section.smf70mis::BIGINT as minimum_weight,
  section.smf70mas::BIGINT as maximum_weight,
  section.smf70nsi::BIGINT as samples_near_minimum,
  section.smf70nsa::BIGINT as samples_near_maximum,
  try_cast(section.smf70ont as BIGINT) as online_us,
  try_cast(section.smf70wst as BIGINT) as wait_us,
  section.smf70pma::BIGINT as pricing_weight_average,
  section.smf70nsw::BIGINT as capping_samples,
  section.smf70pow::BIGINT as polarisation_weight_sum,
  section.smf70nca::BIGINT as capped_samples,
  section.smf70hw_cap_limit / 100.0::DOUBLE as hardware_cap_processors,
  section.smf70hwgr_cap_limit / 100.0::DOUBLE as hardware_group_cap_processors,
  try_cast(section.smf70mtit as BIGINT) as smt_idle_thread_us
from {{ source('raw', 'smf70_1_logical_processor') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf70_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
left join {{ source('raw', 'smf70_1_product') }} as product
  on product.file_id = section.file_id and product.record_seq = section.record_seq and product.section_seq = 0
