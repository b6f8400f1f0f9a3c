select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf120sid, chr(0) || ' ') as smf_sid,
  header.smf120dte + to_microseconds(header.smf120tme::BIGINT * 10000) as written_local,
  section.sm120bud_version::BIGINT as section_version,
  section.sm120bud_type::BIGINT as data_kind,
  section.sm120bud_length::BIGINT as data_length,
  hex(section.sm120bud_data) as data,
  section.zc103_version::BIGINT as provider_version,
  section.zc104_version::BIGINT as requester_version,
  section.zc103_entry as provider_entry_utc,
  section.zc104_stub_sent as requester_sent_utc,
  section.zc103_exit as provider_exit_utc,
  section.zc104_entry as requester_entry_utc,
  try_cast(section.zc103_request_id as BIGINT) as provider_request_id,
  section.zc104_exit as requester_exit_utc,
  hex(section.zc103_tracking_token) as provider_tracking_token,
  try_cast(section.zc104_request_id as BIGINT) as requester_request_id,
  hex(section.zc104_tracking_token) as requester_tracking_token
from {{ source('raw', 'smf120_11_user_data') }} as section
left join {{ source('raw', 'smf120_11_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
