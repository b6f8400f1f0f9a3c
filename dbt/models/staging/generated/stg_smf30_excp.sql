select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  hex(section.smf30dev) as device_class,
  hex(section.smf30utp) as unit_type,
  hex(section.smf30cua) as device_number,
  rtrim(section.smf30ddn, chr(0) || ' ') as dd_name,
  section.smf30blk::BIGINT as blocks,
  section.smf30bsz::BIGINT as block_size_bytes,
  section.smf30dct::BIGINT * 128 as device_connect_us,
  try_cast(section.smf30xbs as BIGINT) as large_block_size_bytes
from {{ source('raw', 'smf30_excp') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
