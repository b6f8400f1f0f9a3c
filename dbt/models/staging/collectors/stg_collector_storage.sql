select
  file_id, record_seq,
  trim(smf_sid) as smf_sid,
  sampled_utc,
  coalesce(trim(job_name), '') as job_name,
  trim(area) as area,
  coalesce(trim(location), '') as location,
  used_kb
from {{ source('collectors', 'collector_storage') }}
