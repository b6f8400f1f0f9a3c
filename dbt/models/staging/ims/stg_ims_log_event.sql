select
  file_id, record_seq,
  event, log_code, subcode, event_utc, log_seq, unit_of_work, recovery_token,
  transaction_code, program_name, lterm, user_id, pst_number, transaction_class, messages, cpu_us, ziip_us
from {{ source('ims', 'ims_log_event') }}
anti join {{ source('meta', 'record_overlap') }} using (file_id, record_seq)
