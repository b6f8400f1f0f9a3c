select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  section.smf119tn_ntrrts::BIGINT as round_trips_ms,
  section.smf119tn_ntriprts::BIGINT as ip_round_trips_ms,
  section.smf119tn_ntrcounttrans::BIGINT as transactions,
  section.smf119tn_ntrcountip::BIGINT as ip_transactions,
  try_cast(section.smf119tn_ntrelapsrndtrpsq as BIGINT) as round_trips_squared_sum,
  try_cast(section.smf119tn_ntrelapsiprtsq as BIGINT) as ip_round_trips_squared_sum,
  try_cast(section.smf119tn_ntrelapssnartsq as BIGINT) as sna_round_trips_squared_sum,
  section.smf119tn_ntrgrpindex::BIGINT as group_index,
  section.smf119tn_ntrdr::BIGINT as definite_response
from {{ source('raw', 'smf119_21_round_trip') }} as section
left join {{ source('raw', 'smf119_21_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
