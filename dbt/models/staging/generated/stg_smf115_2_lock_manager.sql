select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qlstid::BIGINT as control_block_id,
  section.qlstll::BIGINT as control_block_bytes,
  rtrim(section.qlsteyec, chr(0) || ' ') as eye_catcher,
  section.qlstgetl::BIGINT as lock_requests,
  section.qlsthldl::BIGINT as lock_requests_held,
  section.qlstrell::BIGINT as lock_releases
from {{ source('raw', 'smf115_2_lock_manager') }} as section
left join {{ source('raw', 'smf115_2_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
