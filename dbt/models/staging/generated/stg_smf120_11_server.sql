select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf120sid, chr(0) || ' ') as smf_sid,
  header.smf120dte + to_microseconds(header.smf120tme::BIGINT * 10000) as written_local,
  section.sm120bsv_version::BIGINT as section_version,
  rtrim(section.sm120bsv_system, chr(0) || ' ') as system_name,
  rtrim(section.sm120bsv_sysplex, chr(0) || ' ') as sysplex_name,
  rtrim(section.sm120bsv_jobid, chr(0) || ' ') as job_id,
  rtrim(section.sm120bsv_jobname, chr(0) || ' ') as job_name,
  hex(section.sm120bsv_stoken) as address_space_token,
  section.sm120bsv_asid::BIGINT as asid,
  rtrim(section.sm120bsv_config_dir, chr(0) || ' ') as configuration_directory,
  rtrim(section.sm120bsv_product_version, chr(0) || ' ') as product_version,
  section.sm120bsv_pid::BIGINT as process_id,
  section.sm120bsv_flags::BIGINT as server_flags
from {{ source('raw', 'smf120_11_server') }} as section
left join {{ source('raw', 'smf120_11_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
