select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf88sid, chr(0) || ' ') as smf_sid,
  header.smf88dte + to_microseconds(header.smf88tme::BIGINT * 10000) as written_local,
  hex(section.smf88lit) as connection_token,
  rtrim(section.smf88lsn, chr(0) || ' ') as log_stream,
  section.smf88lfl::BIGINT as log_stream_flags,
  (section.smf88lfl & 16384) <> 0 as uses_staging,
  (section.smf88lfl & 8192) <> 0 as is_disconnect,
  section.smf88ltd as interval_end_utc,
  section.smf88lwi::BIGINT as writes,
  section.smf88lib::BIGINT as block_min_bytes,
  section.smf88lab::BIGINT as block_max_bytes,
  section.smf88lwb as user_written_bytes,
  section.smf88ldb as disk_written_bytes,
  section.smf88lio::BIGINT as disk_io_count,
  hex(section.smf88lsd_rest) as later_fields
from {{ source('raw', 'smf88_log_stream') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf88_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
