select
  file_id, record_seq,
  trim(transaction_name) as transaction_name,
  coalesce(trim(phase), '') as phase,
  lower(trim(status)) as status,
  response_s,
  coalesce(transactions, 1) as transactions,
  start_utc
from {{ source('collectors', 'load_driver_transaction') }}
