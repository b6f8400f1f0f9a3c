-- How long do IMS transactions take, where do they wait, and what do they cost?
-- Messages of IMS logs by transaction code, program and region. Columns without a layout of their log records are
-- empty.
select transaction_code, program_name, region, sum(messages)::bigint as messages,
  round(sum(ims_message_response_ms * messages_answered) / sum(messages_answered), 3) as response_ms,
  round(max(response_p95_ms), 3) as worst_p95_ms,
  round(sum(ims_message_input_queue_ms * messages) / sum(messages) filter (where ims_message_input_queue_ms is not null), 3)
    as input_queue_ms,
  round(sum(ims_message_processing_ms * messages) / sum(messages) filter (where ims_message_processing_ms is not null), 3)
    as processing_ms,
  round(1e6 * sum(cpu_s) / sum(messages_accounted), 1) as cpu_us
from marts.fct_ims_transaction
group by transaction_code, program_name, region
order by messages desc, transaction_code, program_name, region
limit 12
