select
  file_id, record_seq,
  trim(smf_sid) as smf_sid,
  sampled_utc,
  trim(data_set_name) as data_set_name,
  records_total,
  records_inserted,
  free_space_bytes
from {{ source('collectors', 'collector_data_set') }}
