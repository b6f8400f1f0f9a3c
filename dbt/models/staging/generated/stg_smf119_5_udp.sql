select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  try_cast(section.smf119ap_tsudduration as BIGINT) as interval_raw,
  try_cast(section.smf119ap_tsudrecdata as BIGINT) as datagrams_received,
  section.smf119ap_tsudrecnoport::BIGINT as datagrams_no_port,
  section.smf119ap_tsudnorec::BIGINT as datagrams_not_received,
  try_cast(section.smf119ap_tsudxmtdata as BIGINT) as datagrams_sent
from {{ source('raw', 'smf119_5_udp') }} as section
left join {{ source('raw', 'smf119_5_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
