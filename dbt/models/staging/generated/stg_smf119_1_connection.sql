select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  rtrim(section.smf119ap_tirname, chr(0) || ' ') as resource_name,
  section.smf119ap_ticonnid::BIGINT as connection_id,
  section.smf119ap_tisubtask::BIGINT as subtask,
  case when substr(hex(section.smf119ap_tirip), 1, 24) in ('00000000000000000000FFFF', '000000000000000000000000') then ('0x' || substr(hex(section.smf119ap_tirip), 25, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ap_tirip), 27, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ap_tirip), 29, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ap_tirip), 31, 2))::UTINYINT else lower(substr(hex(section.smf119ap_tirip), 1, 4)) || ':' || lower(substr(hex(section.smf119ap_tirip), 5, 4)) || ':' || lower(substr(hex(section.smf119ap_tirip), 9, 4)) || ':' || lower(substr(hex(section.smf119ap_tirip), 13, 4)) || ':' || lower(substr(hex(section.smf119ap_tirip), 17, 4)) || ':' || lower(substr(hex(section.smf119ap_tirip), 21, 4)) || ':' || lower(substr(hex(section.smf119ap_tirip), 25, 4)) || ':' || lower(substr(hex(section.smf119ap_tirip), 29, 4)) end as remote_ip,
  case when substr(hex(section.smf119ap_tilip), 1, 24) in ('00000000000000000000FFFF', '000000000000000000000000') then ('0x' || substr(hex(section.smf119ap_tilip), 25, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ap_tilip), 27, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ap_tilip), 29, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ap_tilip), 31, 2))::UTINYINT else lower(substr(hex(section.smf119ap_tilip), 1, 4)) || ':' || lower(substr(hex(section.smf119ap_tilip), 5, 4)) || ':' || lower(substr(hex(section.smf119ap_tilip), 9, 4)) || ':' || lower(substr(hex(section.smf119ap_tilip), 13, 4)) || ':' || lower(substr(hex(section.smf119ap_tilip), 17, 4)) || ':' || lower(substr(hex(section.smf119ap_tilip), 21, 4)) || ':' || lower(substr(hex(section.smf119ap_tilip), 25, 4)) || ':' || lower(substr(hex(section.smf119ap_tilip), 29, 4)) end as local_ip,
  section.smf119ap_tirport::BIGINT as remote_port,
  section.smf119ap_tilport::BIGINT as local_port,
  section.smf119ap_titime::BIGINT * 10000 as started_clock_us,
  section.smf119ap_tidate as started_date,
  section.smf119ap_tistck as started_utc
from {{ source('raw', 'smf119_1_connection') }} as section
left join {{ source('raw', 'smf119_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
