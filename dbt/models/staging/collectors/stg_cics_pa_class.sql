select
  file_id, record_seq,
  trim(applid) as applid,
  trim(class_kind) as class_kind,
  trim(class_name) as class_name,
  start_utc,
  tasks,
  average_s,
  deviation_s,
  max_s
from {{ source('collectors', 'cics_pa_class') }}
