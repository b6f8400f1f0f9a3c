select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qwhslen::BIGINT as header_length_bytes,
  section.qwhstyp::BIGINT as header_type,
  section.qwhsrmid::BIGINT as resource_manager_id,
  section.qwhxlen::BIGINT as extension_length_bytes,
  section.qwhxtyp::BIGINT as extension_type,
  rtrim(section.qwhxqsg, chr(0) || ' ') as queue_sharing_group,
  rtrim(section.qwhxrel, chr(0) || ' ') as release_6
from {{ source('raw', 'smf115_6_standard') }} as section
left join {{ source('raw', 'smf115_6_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
