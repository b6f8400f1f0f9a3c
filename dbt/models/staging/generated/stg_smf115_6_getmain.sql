select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qsgmid::BIGINT as control_block_id,
  section.qsgmll::BIGINT as control_block_bytes,
  rtrim(section.qsgmeyec, chr(0) || ' ') as eye_catcher,
  section.qsgmlvtot::BIGINT as total_bytes,
  section.qsgmlvnew::BIGINT as new_bytes,
  section.qsgmlvmax::BIGINT as longest_bytes,
  section.qsgmlvmin::BIGINT as shortest_bytes,
  section.qsgmcount::BIGINT as requests,
  section.qsgmscls::BIGINT as storage_class,
  rtrim(section.qsgmcsect, chr(0) || ' ') as csect,
  section.qsgmoffset::BIGINT as csect_offset
from {{ source('raw', 'smf115_6_getmain') }} as section
left join {{ source('raw', 'smf115_6_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
