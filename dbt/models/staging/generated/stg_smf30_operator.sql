select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30pdm::BIGINT as dasd_mounts_nonspecific,
  section.smf30prd::BIGINT as dasd_mounts_specific,
  section.smf30ptm::BIGINT as tape_mounts_nonspecific,
  section.smf30tpr::BIGINT as tape_mounts_specific,
  section.smf30mtm::BIGINT as mss_mounts_nonspecific,
  section.smf30msr::BIGINT as mss_mounts_specific
from {{ source('raw', 'smf30_operator') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
