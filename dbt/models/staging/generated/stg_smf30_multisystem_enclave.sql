select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  rtrim(section.smf30mrs, chr(0) || ' ') as system_name,
  section.smf30mra::BIGINT as cpu_rate_adjustment,
  section.smf30mrd::BIGINT * 10000 as dependent_enclave_us,
  section.smf30mri::BIGINT * 10000 as independent_enclave_us
from {{ source('raw', 'smf30_multisystem_enclave') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
