select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  rtrim(section.smf30upo, chr(0) || ' ') as product_owner,
  rtrim(section.smf30upn, chr(0) || ' ') as product_name,
  rtrim(section.smf30upv, chr(0) || ' ') as product_version,
  rtrim(section.smf30upq, chr(0) || ' ') as product_qualifier,
  rtrim(section.smf30upi, chr(0) || ' ') as product_id,
  section.smf30uct::BIGINT * 10000 as product_tcb_us,
  section.smf30ucs::BIGINT * 10000 as product_srb_us,
  hex(section.smf30urd) as product_data,
  section.smf30udf::BIGINT as product_data_format,
  section.smf30ufg::BIGINT as usage_flags
from {{ source('raw', 'smf30_usage') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
