select
  file_id, record_seq, section_seq,
  trim(applid) as applid,
  try_strptime(collected_local, '%m/%d/%Y %H:%M:%S') as collected_local,
  trim(section) as section,
  trim(row_label) as row_label,
  trim(label) as label,
  -- Rows of an earlier version have none.
  coalesce(quantity, case when label like 'Current %' then 'level' when label like 'Peak %' then 'peak' else 'total' end)
    as quantity,
  value_num,
  unit
from {{ source('collectors', 'cics_statistic') }}
