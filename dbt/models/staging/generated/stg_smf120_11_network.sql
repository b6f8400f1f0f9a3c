select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf120sid, chr(0) || ' ') as smf_sid,
  header.smf120dte + to_microseconds(header.smf120tme::BIGINT * 10000) as written_local,
  section.sm120bnt_version::BIGINT as section_version,
  try_cast(section.sm120bnt_response_bytes as BIGINT) as response_bytes,
  section.sm120bnt_target_port::BIGINT as local_port,
  section.sm120bnt_remote_port::BIGINT as remote_port,
  section.sm120bnt_remote_addr_len::BIGINT as remote_address_length,
  rtrim(section.sm120bnt_remote_addr, chr(0) || ' ') as remote_address
from {{ source('raw', 'smf120_11_network') }} as section
left join {{ source('raw', 'smf120_11_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
