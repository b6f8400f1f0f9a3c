select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  section.smf119ap_ttttlssp::BIGINT as tls_protocol,
  rtrim(section.smf119ap_ttttlsnc, chr(0) || ' ') as tls_cipher,
  section.smf119ap_ttttlsst::BIGINT as tls_security_type,
  rtrim(section.smf119ap_ttttlsuid, chr(0) || ' ') as tls_partner_user_id
from {{ source('raw', 'smf119_2_tls') }} as section
left join {{ source('raw', 'smf119_2_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
