select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  section.smf119tn_ntbucketbndry1::BIGINT as boundary_1,
  section.smf119tn_ntbucketbndry2::BIGINT as boundary_2,
  section.smf119tn_ntbucketbndry3::BIGINT as boundary_3,
  section.smf119tn_ntbucketbndry4::BIGINT as boundary_4,
  section.smf119tn_ntbucket1rts::BIGINT as responses_1,
  section.smf119tn_ntbucket2rts::BIGINT as responses_2,
  section.smf119tn_ntbucket3rts::BIGINT as responses_3,
  section.smf119tn_ntbucket4rts::BIGINT as responses_4,
  section.smf119tn_ntbucket5rts::BIGINT as responses_5
from {{ source('raw', 'smf119_21_response_range') }} as section
left join {{ source('raw', 'smf119_21_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
