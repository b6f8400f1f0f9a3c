select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qsstid::BIGINT as control_block_id,
  section.qsstlen::BIGINT as control_block_bytes,
  rtrim(section.qsstdesc, chr(0) || ' ') as eye_catcher,
  section.qsstgplf::BIGINT as fixed_pools_created,
  section.qsstfplf::BIGINT as fixed_pools_freed,
  section.qsstfref::BIGINT as fixed_segments_freed,
  section.qsstexpf::BIGINT as fixed_segments_expanded,
  section.qsstconf::BIGINT as fixed_segments_contracted,
  section.qsstgplv::BIGINT as variable_pools_created,
  section.qsstfplv::BIGINT as variable_pools_freed,
  section.qsstfrev::BIGINT as variable_segments_freed,
  section.qsstexpv::BIGINT as variable_segments_expanded,
  section.qsstconv::BIGINT as variable_segments_contracted,
  section.qsstgetm::BIGINT as getmains,
  section.qsstfrem::BIGINT as freemains,
  section.qsstrcnz::BIGINT as nonzero_return_codes,
  section.qsstcont::BIGINT as short_on_storage_contractions,
  section.qsstcrit::BIGINT as short_on_storage_conditions,
  section.qsstabnd::BIGINT as short_on_storage_abends,
  hex(section.qsstrest) as further_content
from {{ source('raw', 'smf115_1_storage_manager') }} as section
left join {{ source('raw', 'smf115_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
