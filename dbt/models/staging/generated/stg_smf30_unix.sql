select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30opi::BIGINT as process_id,
  section.smf30opg::BIGINT as process_group_id,
  section.smf30oui::BIGINT as process_user_id,
  section.smf30oug::BIGINT as process_user_group_id,
  section.smf30osi::BIGINT as session_id,
  section.smf30osc::BIGINT * 10000 as syscall_us,
  section.smf30ost::BIGINT as syscalls,
  section.smf30odr::BIGINT as directory_blocks_read,
  section.smf30ofr::BIGINT as file_blocks_read,
  section.smf30ofw::BIGINT as file_blocks_written,
  section.smf30opr::BIGINT as pipe_blocks_read,
  section.smf30opw::BIGINT as pipe_blocks_written,
  section.smf30oll::BIGINT as logical_lookups,
  section.smf30olp::BIGINT as physical_lookups,
  section.smf30ogl::BIGINT as logical_generations,
  section.smf30ogp::BIGINT as physical_generations,
  section.smf30opp::BIGINT as parent_process_id,
  section.smf30osy::BIGINT as syncs
from {{ source('raw', 'smf30_unix') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
