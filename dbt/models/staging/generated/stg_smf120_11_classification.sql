select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf120sid, chr(0) || ' ') as smf_sid,
  header.smf120dte + to_microseconds(header.smf120tme::BIGINT * 10000) as written_local,
  section.sm120bcl_version::BIGINT as section_version,
  section.sm120bcl_type::BIGINT as data_kind,
  section.sm120bcl_length::BIGINT as data_length,
  rtrim(section.sm120bcl_data, chr(0) || ' ') as data
from {{ source('raw', 'smf120_11_classification') }} as section
left join {{ source('raw', 'smf120_11_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
