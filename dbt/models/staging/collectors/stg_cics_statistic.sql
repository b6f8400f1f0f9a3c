select
  file_id, record_seq, section_seq,
  trim(applid) as applid,
  try_strptime(collected_local, '%m/%d/%Y %H:%M:%S') as collected_local,
  trim(section) as section,
  trim(label) as label,
  value_num
from {{ source('collectors', 'cics_statistic') }}
