select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  rtrim(section.smf30_container_id, chr(0) || ' ') as container_id,
  rtrim(section.smf30_container_qual, chr(0) || ' ') as container_qualifier,
  rtrim(section.smf30_pod_id, chr(0) || ' ') as pod_id
from {{ source('raw', 'smf30_container') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
