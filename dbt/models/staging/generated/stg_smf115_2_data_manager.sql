select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qistid::BIGINT as control_block_id,
  section.qistll::BIGINT as control_block_bytes,
  rtrim(section.qisteyec, chr(0) || ' ') as eye_catcher,
  section.qistmget::BIGINT as message_gets,
  section.qistmput::BIGINT as message_puts,
  section.qistmblr::BIGINT as browse_lock_releases,
  section.qistdcre::BIGINT as object_creates,
  section.qistdput::BIGINT as object_puts,
  section.qistddel::BIGINT as object_deletes,
  section.qistdget::BIGINT as object_gets,
  section.qistdloc::BIGINT as object_locates,
  section.qistmcnt::BIGINT as message_counts,
  section.qistalst::BIGINT as storage_class_changes,
  section.qistlomm::BIGINT as marked_message_locks,
  section.qistdlmm::BIGINT as marked_message_deletes,
  section.qistenum::BIGINT as enumerates,
  section.qistraio::BIGINT as read_ahead_ios,
  section.qistrabp::BIGINT as read_ahead_from_buffer_pool,
  section.qistgetd::BIGINT as gets_from_disk,
  section.qistgetb::BIGINT as gets_from_buffer_pool
from {{ source('raw', 'smf115_2_data_manager') }} as section
left join {{ source('raw', 'smf115_2_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
