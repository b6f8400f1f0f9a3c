select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  rtrim(section.smf119ft_fsmechanism, chr(0) || ' ') as mechanism,
  rtrim(section.smf119ft_fscprotect, chr(0) || ' ') as control_protection,
  rtrim(section.smf119ft_fsdprotect, chr(0) || ' ') as data_protection,
  rtrim(section.smf119ft_fsloginmech, chr(0) || ' ') as login_method,
  rtrim(section.smf119ft_fsprotolevel, chr(0) || ' ') as protocol_level,
  rtrim(section.smf119ft_fscipherspec, chr(0) || ' ') as cipher_specification,
  section.smf119ft_fsprotobufsize::BIGINT as protection_buffer_bytes,
  rtrim(section.smf119ft_fscipher, chr(0) || ' ') as cipher
from {{ source('raw', 'smf119_70_security') }} as section
left join {{ source('raw', 'smf119_70_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
