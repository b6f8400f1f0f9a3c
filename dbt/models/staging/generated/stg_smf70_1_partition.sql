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
  rtrim(section.smf70lpm, chr(0) || ' ') as partition_name,
  section.smf70lpn::BIGINT as partition_number,
  section.smf70pfg::BIGINT as partition_flags,
  (section.smf70pfg & 8) <> 0 as is_weight_managed,
  section.smf70bdn::BIGINT as logical_processor_count,
  section.smf70bds::BIGINT as logical_processor_skip,
  section.smf70bda::BIGINT as logical_processors_active,
  rtrim(section.smf70spn, chr(0) || ' ') as cluster_name,
  rtrim(section.smf70stn, chr(0) || ' ') as os_name,
  section.smf70csf::BIGINT as central_storage_mb,
  section.smf70esf::BIGINT as expanded_storage_mb,
  section.smf70msu::BIGINT as defined_capacity_msu,
  section.smf70pfl::BIGINT as partition_flags_2,
  (section.smf70pfl & 16384) <> 0 as is_capacity_group_member,
  section.smf70upi::BIGINT as user_partition_id,
  section.smf70mtid::BIGINT as max_thread_id,
  rtrim(section.smf70gnm, chr(0) || ' ') as capacity_group_name,
  section.smf70gmu::BIGINT as capacity_group_limit_msu,
  rtrim(section.smf70hwgr_name, chr(0) || ' ') as hardware_group_name,
  section.smf70_boostinfo::BIGINT as boost_flags,
  (section.smf70_boostinfo & 128) <> 0 as is_ziip_boost,
  (section.smf70_boostinfo & 64) <> 0 as is_speed_boost
from {{ source('raw', 'smf70_1_partition') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf70_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
left join {{ source('raw', 'smf70_1_product') }} as product
  on product.file_id = section.file_id and product.record_seq = section.record_seq and product.section_seq = 0
