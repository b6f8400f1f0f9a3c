select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  rtrim(section.smf119ap_ttappldata, chr(0) || ' ') as application_data
from {{ source('raw', 'smf119_2_application') }} as section
left join {{ source('raw', 'smf119_2_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
