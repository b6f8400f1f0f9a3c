select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf123_sid, chr(0) || ' ') as smf_sid,
  header.smf123_date + to_microseconds(header.smf123_time::BIGINT * 10000) as written_local,
  section.smf123_server_sect_version::BIGINT as section_version,
  rtrim(section.smf123_server_system, chr(0) || ' ') as system_name,
  rtrim(section.smf123_server_sysplex, chr(0) || ' ') as sysplex_name,
  rtrim(section.smf123_server_jobid, chr(0) || ' ') as job_id,
  rtrim(section.smf123_server_jobname, chr(0) || ' ') as job_name,
  hex(section.smf123_server_stoken) as address_space_token,
  rtrim(section.smf123_server_config_dir, chr(0) || ' ') as configuration_directory,
  rtrim(section.smf123_server_version, chr(0) || ' ') as product_version
from {{ source('raw', 'smf123_1_server') }} as section
left join {{ source('raw', 'smf123_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
