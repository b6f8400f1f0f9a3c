select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30dc::BIGINT as conversations,
  section.smf30dca::BIGINT as conversations_allocated,
  section.smf30dsc::BIGINT as sends,
  section.smf30dds as sent_bytes,
  section.smf30drc::BIGINT as receives,
  section.smf30ddr as received_bytes,
  section.smf30dac::BIGINT as active_conversations,
  section.smf30dtr::BIGINT as programs_scheduled
from {{ source('raw', 'smf30_appc') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
