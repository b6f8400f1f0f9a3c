select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smfsid, chr(0) || ' ') as smf_sid,
  header.smfdte + to_microseconds(header.smftme::BIGINT * 10000) as written_local,
  rtrim(section.cmodname, chr(0) || ' ') as field_group,
  rtrim(section.cmodtype, chr(0) || ' ') as field_type,
  rtrim(section.cmodidnt, chr(0) || ' ') as field_id,
  rtrim(section.cmodhead, chr(0) || ' ') as nickname,
  hex(section.value_bytes) as value
from {{ source('raw', 'smf110_1_other_field') }} as section
left join {{ source('raw', 'smf110_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
