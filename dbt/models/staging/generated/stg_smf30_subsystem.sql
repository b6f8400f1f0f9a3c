select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30typ::BIGINT as subtype,
  section.smf30pflags::BIGINT as product_flags,
  rtrim(section.smf30rvn, chr(0) || ' ') as record_version,
  rtrim(section.smf30pnm, chr(0) || ' ') as product_name,
  rtrim(section.smf30osl, chr(0) || ' ') as os_level,
  rtrim(section.smf30syn, chr(0) || ' ') as system_name,
  rtrim(section.smf30syp, chr(0) || ' ') as sysplex_name
from {{ source('raw', 'smf30_subsystem') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
