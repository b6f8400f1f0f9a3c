select
  header.file_id,
  header.record_seq,
  header.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  header.sm115len::BIGINT as record_length,
  header.sm115sgd::BIGINT as segment_code,
  header.sm115flg::BIGINT as system_flags,
  header.sm115rty::BIGINT as record_type,
  header.sm115tme::BIGINT * 10000 as written_clock_us,
  header.sm115dte as written_date,
  rtrim(header.sm115ssi, chr(0) || ' ') as subsystem_id,
  header.sm115stf::BIGINT as subtype,
  rtrim(header.sm115rel, chr(0) || ' ') as release,
  header.triplet1_offset::BIGINT as standard_offset,
  header.triplet1_length::BIGINT as standard_length,
  header.triplet1_count::BIGINT as standard_count
from {{ source('raw', 'smf115_240_header') }} as header
