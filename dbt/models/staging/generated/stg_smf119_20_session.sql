select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  rtrim(section.smf119tn_nilu, chr(0) || ' ') as lu_name,
  rtrim(section.smf119tn_niappl, chr(0) || ' ') as application,
  section.smf119tn_nildev::BIGINT as logical_device,
  case when substr(hex(section.smf119tn_nirip), 1, 24) in ('00000000000000000000FFFF', '000000000000000000000000') then ('0x' || substr(hex(section.smf119tn_nirip), 25, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119tn_nirip), 27, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119tn_nirip), 29, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119tn_nirip), 31, 2))::UTINYINT else lower(substr(hex(section.smf119tn_nirip), 1, 4)) || ':' || lower(substr(hex(section.smf119tn_nirip), 5, 4)) || ':' || lower(substr(hex(section.smf119tn_nirip), 9, 4)) || ':' || lower(substr(hex(section.smf119tn_nirip), 13, 4)) || ':' || lower(substr(hex(section.smf119tn_nirip), 17, 4)) || ':' || lower(substr(hex(section.smf119tn_nirip), 21, 4)) || ':' || lower(substr(hex(section.smf119tn_nirip), 25, 4)) || ':' || lower(substr(hex(section.smf119tn_nirip), 29, 4)) end as remote_ip,
  case when substr(hex(section.smf119tn_nilip), 1, 24) in ('00000000000000000000FFFF', '000000000000000000000000') then ('0x' || substr(hex(section.smf119tn_nilip), 25, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119tn_nilip), 27, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119tn_nilip), 29, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119tn_nilip), 31, 2))::UTINYINT else lower(substr(hex(section.smf119tn_nilip), 1, 4)) || ':' || lower(substr(hex(section.smf119tn_nilip), 5, 4)) || ':' || lower(substr(hex(section.smf119tn_nilip), 9, 4)) || ':' || lower(substr(hex(section.smf119tn_nilip), 13, 4)) || ':' || lower(substr(hex(section.smf119tn_nilip), 17, 4)) || ':' || lower(substr(hex(section.smf119tn_nilip), 21, 4)) || ':' || lower(substr(hex(section.smf119tn_nilip), 25, 4)) || ':' || lower(substr(hex(section.smf119tn_nilip), 29, 4)) end as local_ip,
  section.smf119tn_nirport::BIGINT as remote_port,
  section.smf119tn_nilport::BIGINT as local_port,
  section.smf119tn_nitime::BIGINT * 10000 as started_clock_us,
  section.smf119tn_nidate as started_date
from {{ source('raw', 'smf119_20_session') }} as section
left join {{ source('raw', 'smf119_20_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
