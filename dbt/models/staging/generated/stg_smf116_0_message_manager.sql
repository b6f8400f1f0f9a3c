select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm116sid, chr(0) || ' ') as smf_sid,
  header.sm116dte + to_microseconds(header.sm116tme::BIGINT * 10000) as written_local,
  section.qmacid::BIGINT as control_block_id,
  section.qmacll::BIGINT as control_block_bytes,
  rtrim(section.qmaceyec, chr(0) || ' ') as eye_catcher,
  section.qmaccput / 4096::DOUBLE as cpu_us,
  section.qmacputa::BIGINT as puts_0_to_99,
  section.qmacputb::BIGINT as puts_100_to_999,
  section.qmacputc::BIGINT as puts_1000_to_9999,
  section.qmacputd::BIGINT as puts_10000_up,
  section.qmacgeta::BIGINT as gets_0_to_99,
  section.qmacgetb::BIGINT as gets_100_to_999,
  section.qmacgetc::BIGINT as gets_1000_to_9999,
  section.qmacgetd::BIGINT as gets_10000_up
from {{ source('raw', 'smf116_0_message_manager') }} as section
left join {{ source('raw', 'smf116_0_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
