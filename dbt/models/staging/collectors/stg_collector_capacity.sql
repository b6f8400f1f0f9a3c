select
  file_id, record_seq,
  trim(smf_sid) as smf_sid, trim(rating) as rating, capacity, source
from {{ source('collectors', 'collector_capacity') }}
