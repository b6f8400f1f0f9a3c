select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  try_cast(section.smf30_us_comprreq as BIGINT) as requests,
  try_cast(section.smf30_us_comprreq_prob as BIGINT) as problem_state_requests,
  try_cast(section.smf30_us_queuetime as BIGINT) as queue_us,
  try_cast(section.smf30_us_exectime as BIGINT) as execution_us,
  try_cast(section.smf30_us_def_uncomprin as BIGINT) as compress_in_bytes,
  try_cast(section.smf30_us_def_comprout as BIGINT) as compress_out_bytes,
  try_cast(section.smf30_us_inf_comprin as BIGINT) as decompress_in_bytes,
  try_cast(section.smf30_us_inf_decomprout as BIGINT) as decompress_out_bytes
from {{ source('raw', 'smf30_zedc') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
