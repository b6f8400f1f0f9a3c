select
  file_id, record_seq,
  trim(smf_sid) as smf_sid,
  trim(operation) as operation,
  trim(phase) as phase,
  start_utc,
  end_utc,
  date_diff('microsecond', start_utc, end_utc) / 1e6 as elapsed_s
from {{ source('collectors', 'collector_phase') }}
