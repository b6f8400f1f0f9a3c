select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smfsid, chr(0) || ' ') as smf_sid,
  header.smfdte + to_microseconds(header.smftme::BIGINT * 10000) as written_local,
  rtrim(section.smf_sid, chr(0) || ' ') as dictionary_smf_sid,
  rtrim(section.applid, chr(0) || ' ') as applid,
  rtrim(section.release, chr(0) || ' ') as release_code,
  rtrim(section.cmodname, chr(0) || ' ') as field_group,
  rtrim(section.cmodtype, chr(0) || ' ') as field_type,
  rtrim(section.cmodidnt, chr(0) || ' ') as field_id,
  section.cmodleng::BIGINT as field_length_bytes,
  section.cmodconn::BIGINT as connector,
  section.cmodofst::BIGINT as field_offset_bytes,
  rtrim(section.cmodhead, chr(0) || ' ') as nickname
from {{ source('raw', 'smf110_1_dictionary') }} as section
left join {{ source('raw', 'smf110_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
