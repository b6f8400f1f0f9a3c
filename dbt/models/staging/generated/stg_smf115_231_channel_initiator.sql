select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qcctid::BIGINT as control_block_id,
  section.qcctll::BIGINT as control_block_bytes,
  rtrim(section.qccteyec, chr(0) || ' ') as eye_catcher,
  rtrim(section.qcctjobn, chr(0) || ' ') as job_name,
  rtrim(section.qcctqsgn, chr(0) || ' ') as queue_sharing_group_name,
  section.qcctnocc::BIGINT as current_channels_max,
  section.qcctmxcc::BIGINT as current_channels_limit,
  section.qcctnoac::BIGINT as active_channels_max,
  section.qcctmxac::BIGINT as active_channels_limit,
  section.qcctmxtp::BIGINT as tcp_channels_limit,
  section.qcctmxlu::BIGINT as lu62_channels_limit,
  section.qcctstus::BIGINT as storage_31,
  try_cast(section.qcctstab as BIGINT) as storage_64,
  try_cast(section.qcctslim as BIGINT) as storage_64_limit
from {{ source('raw', 'smf115_231_channel_initiator') }} as section
left join {{ source('raw', 'smf115_231_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
