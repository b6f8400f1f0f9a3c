select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30cn::BIGINT as conversations,
  section.smf30cna::BIGINT as conversations_allocated,
  section.smf30sen::BIGINT as sends,
  section.smf30dat as sent_bytes,
  section.smf30rec::BIGINT as receives,
  section.smf30dar as received_bytes,
  section.smf30tac::BIGINT as active_conversations,
  section.smf30atr::BIGINT as requests
from {{ source('raw', 'smf30_appc_cumulative') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
