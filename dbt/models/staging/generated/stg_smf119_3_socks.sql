select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  case when substr(hex(section.smf119ft_fcscip), 1, 24) in ('00000000000000000000FFFF', '000000000000000000000000') then ('0x' || substr(hex(section.smf119ft_fcscip), 25, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ft_fcscip), 27, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ft_fcscip), 29, 2))::UTINYINT || '.' || ('0x' || substr(hex(section.smf119ft_fcscip), 31, 2))::UTINYINT else lower(substr(hex(section.smf119ft_fcscip), 1, 4)) || ':' || lower(substr(hex(section.smf119ft_fcscip), 5, 4)) || ':' || lower(substr(hex(section.smf119ft_fcscip), 9, 4)) || ':' || lower(substr(hex(section.smf119ft_fcscip), 13, 4)) || ':' || lower(substr(hex(section.smf119ft_fcscip), 17, 4)) || ':' || lower(substr(hex(section.smf119ft_fcscip), 21, 4)) || ':' || lower(substr(hex(section.smf119ft_fcscip), 25, 4)) || ':' || lower(substr(hex(section.smf119ft_fcscip), 29, 4)) end as socks_ip,
  section.smf119ft_fcscport::BIGINT as socks_port,
  section.smf119ft_fcscprot::BIGINT as socks_protocol
from {{ source('raw', 'smf119_3_socks') }} as section
left join {{ source('raw', 'smf119_3_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
