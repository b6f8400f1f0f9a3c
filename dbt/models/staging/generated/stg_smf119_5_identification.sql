select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  rtrim(section.smf119ti_sysname, chr(0) || ' ') as system_name,
  rtrim(section.smf119ti_sysplexname, chr(0) || ' ') as sysplex_name,
  rtrim(section.smf119ti_stack, chr(0) || ' ') as stack_name,
  rtrim(section.smf119ti_releaseid, chr(0) || ' ') as release,
  rtrim(section.smf119ti_comp, chr(0) || ' ') as component,
  rtrim(section.smf119ti_asname, chr(0) || ' ') as address_space_name,
  rtrim(section.smf119ti_userid, chr(0) || ' ') as user_id,
  section.smf119ti_asid::BIGINT as asid,
  section.smf119ti_reason::BIGINT as reason,
  (section.smf119ti_reason & 128) <> 0 as is_interval,
  (section.smf119ti_reason & 64) <> 0 as is_incomplete,
  (section.smf119ti_reason & 32) <> 0 as is_interval_end,
  (section.smf119ti_reason & 16) <> 0 as is_shutdown,
  (section.smf119ti_reason & 8) <> 0 as is_event,
  section.smf119ti_recordid::BIGINT as record_id
from {{ source('raw', 'smf119_5_identification') }} as section
left join {{ source('raw', 'smf119_5_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
