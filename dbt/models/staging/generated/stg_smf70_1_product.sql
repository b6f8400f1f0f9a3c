select
  product.file_id,
  product.record_seq,
  product.section_seq,
  rtrim(header.smf70sid, chr(0) || ' ') as smf_sid,
  header.smf70dte + to_microseconds(header.smf70tme::BIGINT * 10000) as written_local,
  product.smf70dat + to_seconds(product.smf70ist::BIGINT // 10000 * 3600 + product.smf70ist::BIGINT // 100 % 100 * 60 + product.smf70ist::BIGINT % 100) as interval_start_local,
  epoch_us(product.smf70iet) / 1e6 - (product.smf70int // 100000 * 60 + product.smf70int % 100000 / 1000::DOUBLE) - epoch_us(interval_start_local - to_microseconds(product.smf70lgo // 4096)) / 1e6 as store_clock_ahead_s,
  interval_start_local - to_microseconds(product.smf70lgo // 4096) + case when abs(store_clock_ahead_s) < 12600 then to_minutes(30 * round(store_clock_ahead_s / 1800)::BIGINT) else interval '0' minute end as interval_start_utc,
  product.smf70int // 100000 * 60 + product.smf70int % 100000 / 1000::DOUBLE as interval_s,
  rtrim(product.smf70xnm, chr(0) || ' ') as sysplex_name,
  rtrim(product.smf70snm, chr(0) || ' ') as system_name,
  product.smf70mfv::BIGINT as rmf_version,
  rtrim(product.smf70prd, chr(0) || ' ') as product_name,
  product.smf70ist::BIGINT // 10000 * 3600 + product.smf70ist::BIGINT // 100 % 100 * 60 + product.smf70ist::BIGINT % 100 as interval_start_clock_s,
  product.smf70dat as interval_start_date,
  product.smf70sam::BIGINT as sample_count,
  product.smf70fla::BIGINT as interval_flags,
  (product.smf70fla & 64) <> 0 as is_ziip_boost,
  (product.smf70fla & 32) <> 0 as is_speed_boost,
  product.smf70cyc::BIGINT as sampling_cycle_ms,
  rtrim(product.smf70mvs, chr(0) || ' ') as os_level,
  product.smf70iml::BIGINT as processor_complex_type,
  product.smf70prf::BIGINT as processor_flags,
  hex(product.smf70ptn) as partition_number,
  product.smf70srl::BIGINT as record_level,
  product.smf70iet as interval_expiry_utc,
  product.smf70lgo / 4096::DOUBLE as local_offset_us,
  product.smf70rao::BIGINT as reassembly_offset,
  product.smf70ral::BIGINT as reassembly_length,
  product.smf70ran::BIGINT as reassembly_count,
  product.smf70oil::BIGINT as defined_interval_s,
  product.smf70syn::BIGINT as sync_s,
  product.smf70gie as gathering_end_utc
from {{ source('raw', 'smf70_1_product') }} as product
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = product.file_id and elsewhere.record_seq = product.record_seq
left join {{ source('raw', 'smf70_1_header') }} as header
  on header.file_id = product.file_id and header.record_seq = product.record_seq and header.section_seq = 0
