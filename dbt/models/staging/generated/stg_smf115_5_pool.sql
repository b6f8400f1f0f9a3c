select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qsphid::BIGINT as control_block_id,
  section.qsphll::BIGINT as control_block_bytes,
  rtrim(section.qspheyec, chr(0) || ' ') as eye_catcher,
  section.qsphstor::BIGINT as size,
  section.qsphostor::BIGINT as previous_size,
  section.qsphxstor::BIGINT as expansion,
  section.qsphbsize::BIGINT as element_bytes,
  section.qsphbcnt::BIGINT as elements_per_segment,
  section.qsphcount::BIGINT as pool_headers,
  rtrim(section.qsphdspnm, chr(0) || ' ') as data_space_name,
  rtrim(section.qsphname, chr(0) || ' ') as pool_name,
  section.qsphflags::BIGINT as pool_flags
from {{ source('raw', 'smf115_5_pool') }} as section
left join {{ source('raw', 'smf115_5_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
