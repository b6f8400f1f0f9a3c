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
  rtrim(section.smf70cin, chr(0) || ' ') as processor_type_name,
  section.smf70ctn::BIGINT as physical_processor_count,
  section.smf70can::BIGINT as physical_processor_sum
from {{ source('raw', 'smf70_1_cpu_identification') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf70_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
left join {{ source('raw', 'smf70_1_product') }} as product
  on product.file_id = section.file_id and product.record_seq = section.record_seq and product.section_seq = 0
