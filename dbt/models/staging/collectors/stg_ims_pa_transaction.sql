select
  file_id, record_seq,
  trim(ims_id) as ims_id,
  trim(transaction_code) as transaction_code,
  start_time,
  coalesce(transactions, 1) as transactions,
  input_queue_s,
  shared_queue_s,
  process_s,
  output_queue_s,
  total_s,
  cpu_s,
  ziip_s
from {{ source('collectors', 'ims_pa_transaction') }}
