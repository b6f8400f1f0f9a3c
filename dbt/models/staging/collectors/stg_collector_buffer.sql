select
  file_id, record_seq,
  trim(smf_sid) as smf_sid, sampled_utc, trim(product) as product, trim(pool) as pool, in_use, max_used
from {{ source('collectors', 'collector_buffer') }}
