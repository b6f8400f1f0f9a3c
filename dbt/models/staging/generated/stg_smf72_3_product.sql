select
  product.file_id,
  product.record_seq,
  product.section_seq,
  rtrim(header.smf72sid, chr(0) || ' ') as smf_sid,
  header.smf72dte + to_microseconds(header.smf72tme::BIGINT * 10000) as written_local,
  product.smf72dat + to_seconds(product.smf72ist::BIGINT // 10000 * 3600 + product.smf72ist::BIGINT // 100 % 100 * 60 + product.smf72ist::BIGINT % 100) as interval_start_local,
  epoch_us(product.smf72iet) / 1e6 - (product.smf72int // 100000 * 60 + product.smf72int % 100000 / 1000::DOUBLE) - epoch_us(interval_start_local - to_microseconds(product.smf72lgo // 4096)) / 1e6 as store_clock_ahead_s,
  interval_start_local - to_microseconds(product.smf72lgo // 4096) + case when abs(store_clock_ahead_s) < 12600 then to_minutes(30 * round(store_clock_ahead_s / 1800)::BIGINT) else interval '0' minute end as interval_start_utc,
  product.smf72int // 100000 * 60 + product.smf72int % 100000 / 1000::DOUBLE as interval_s,
  rtrim(product.smf72xnm, chr(0) || ' ') as sysplex_name,
  rtrim(product.smf72snm, chr(0) || ' ') as system_name,
  product.smf72mfv::BIGINT as rmf_version,
  rtrim(product.smf72prd, chr(0) || ' ') as product_name,
  product.smf72ist::BIGINT // 10000 * 3600 + product.smf72ist::BIGINT // 100 % 100 * 60 + product.smf72ist::BIGINT % 100 as interval_start_clock_s,
  product.smf72dat as interval_start_date,
  product.smf72sam::BIGINT as sample_count,
  product.smf72fla::BIGINT as interval_flags,
  (product.smf72fla & 64) <> 0 as is_ziip_boost,
  (product.smf72fla & 32) <> 0 as is_speed_boost,
  product.smf72cyc::BIGINT as sampling_cycle_ms,
  rtrim(product.smf72mvs, chr(0) || ' ') as os_level,
  product.smf72iml::BIGINT as processor_complex_type,
  product.smf72prf::BIGINT as processor_flags,
  hex(product.smf72ptn) as partition_number,
  product.smf72srl::BIGINT as record_level,
  product.smf72iet as interval_expiry_utc,
  product.smf72lgo / 4096::DOUBLE as local_offset_us,
  product.smf72rao::BIGINT as reassembly_offset,
  product.smf72ral::BIGINT as reassembly_length,
  product.smf72ran::BIGINT as reassembly_count,
  product.smf72oil::BIGINT as defined_interval_s,
  product.smf72syn::BIGINT as sync_s,
  product.smf72gie as gathering_end_utc
from {{ source('raw', 'smf72_3_product') }} as product
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = product.file_id and elsewhere.record_seq = product.record_seq
left join {{ source('raw', 'smf72_3_header') }} as header
  on header.file_id = product.file_id and header.record_seq = product.record_seq and header.section_seq = 0
