select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qestid::BIGINT as control_block_id,
  section.qestll::BIGINT as control_block_bytes,
  rtrim(section.qesteyec, chr(0) || ' ') as eye_catcher,
  list_transform(section.qeststr, lambda x: rtrim(x, chr(0) || ' ')) as structure_names,
  list_transform(section.qeststrn, lambda x: x::BIGINT) as structure_numbers,
  list_transform(section.qestcsec, lambda x: x::BIGINT) as ixllste_calls,
  list_transform(section.qestcmec, lambda x: x::BIGINT) as ixllstm_calls,
  list_transform(section.qestsstc, lambda x: x / 4096::DOUBLE) as ixllste_us,
  list_transform(section.qestmstc, lambda x: x / 4096::DOUBLE) as ixllstm_us,
  list_transform(section.qestrsec, lambda x: x::BIGINT) as ixllste_redrives,
  list_transform(section.qestrmec, lambda x: x::BIGINT) as ixllstm_redrives,
  list_transform(section.qestsful, lambda x: x::BIGINT) as structure_full,
  list_transform(section.qestmnus, lambda x: x::BIGINT) as entries_in_use_max,
  list_transform(section.qestmlus, lambda x: x::BIGINT) as elements_in_use_max
from {{ source('raw', 'smf115_2_coupling_facility') }} as section
left join {{ source('raw', 'smf115_2_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
