select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  rtrim(section.smf30rnm, chr(0) || ' ') as element_name,
  rtrim(section.smf30rtp, chr(0) || ' ') as element_type,
  rtrim(section.smf30rrg, chr(0) || ' ') as restart_group,
  rtrim(section.smf30rsn, chr(0) || ' ') as initial_system_name,
  section.smf30rgt::BIGINT * 10000 as registered_clock_us,
  section.smf30rgd as registered_date,
  section.smf30rwt::BIGINT * 10000 as waiting_clock_us,
  section.smf30rwd as waiting_date,
  section.smf30ryt::BIGINT * 10000 as ready_clock_us,
  section.smf30ryd as ready_date,
  section.smf30rtt::BIGINT * 10000 as deregistered_clock_us,
  section.smf30rtd as deregistered_date
from {{ source('raw', 'smf30_arm') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
