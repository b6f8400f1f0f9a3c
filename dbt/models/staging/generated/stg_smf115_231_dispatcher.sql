select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qcttskn::BIGINT as task_number,
  section.qctreqn::BIGINT as requests,
  section.qctcptm / 4096::DOUBLE as cpu_us,
  section.qcteltm / 4096::DOUBLE as elapsed_us,
  section.qctwttm / 4096::DOUBLE as wait_us,
  section.qctchln::BIGINT as channels
from {{ source('raw', 'smf115_231_dispatcher') }} as section
left join {{ source('raw', 'smf115_231_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
