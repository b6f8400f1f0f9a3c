select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30scc::BIGINT as completion_code,
  (section.smf30scc & 32768) <> 0 as is_user_abend,
  section.smf30sti::BIGINT as termination_flags,
  (section.smf30sti & 512) <> 0 as is_abend,
  (section.smf30sti & 256) <> 0 as is_flushed,
  section.smf30arc::BIGINT as abend_reason_code
from {{ source('raw', 'smf30_completion') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
