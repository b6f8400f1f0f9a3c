select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  rtrim(section.smf119ap_tttelluname, chr(0) || ' ') as lu_name,
  rtrim(section.smf119ap_tttelappl, chr(0) || ' ') as application,
  rtrim(section.smf119ap_tttellogmode, chr(0) || ' ') as log_mode,
  section.smf119ap_tttelstatus::BIGINT as session_status,
  section.smf119ap_ttteltermcode::BIGINT as termination_code
from {{ source('raw', 'smf119_2_telnet') }} as section
left join {{ source('raw', 'smf119_2_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
