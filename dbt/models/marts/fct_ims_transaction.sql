-- Messages of IMS logs and the processor time of programs, by the quarter of an hour. A code has one program: where a
-- record does not name it, another one of the code in the same quarter does.
with event as (
  select time_bucket(interval '15 minutes', last_utc) as interval_start_utc,
    trim(transaction_code) as transaction_code, trim(program_name) as program_name, pst_number,
    1 as messages, input_queue_us, processing_us, output_queue_us, response_us
  from {{ ref('int_ims_message') }}
  union all by name
  select time_bucket(interval '15 minutes', ended_utc) as interval_start_utc,
    trim(transaction_code) as transaction_code, trim(program_name) as program_name, pst_number,
    messages as messages_accounted, cpu_us, ziip_us
  from {{ ref('int_ims_work') }}
)

select
  interval_start_utc::timestamp as interval_start_utc,
  900::double as interval_s,
  transaction_code::varchar as transaction_code,
  program_name::varchar as program_name,
  pst_number::bigint as region,
  count(messages)::bigint as messages,
  count(response_us)::bigint as messages_answered,
  {{ metric('ims_messages_per_s', {'messages': 'count(messages)', 'seconds': '900'}) }} as ims_messages_per_s,
  {{ metric('ims_message_response_ms') }} as ims_message_response_ms,
  (1e-3 * quantile_cont(response_us, 0.95))::double as response_p95_ms,
  {{ metric('ims_message_input_queue_ms') }} as ims_message_input_queue_ms,
  {{ metric('ims_message_processing_ms') }} as ims_message_processing_ms,
  {{ metric('ims_message_output_queue_ms') }} as ims_message_output_queue_ms,
  sum(messages_accounted)::bigint as messages_accounted,
  (sum(cpu_us) / 1e6)::double as cpu_s,
  (sum(ziip_us) / 1e6)::double as ziip_s,
  {{ metric('ims_message_cpu_us') }} as ims_message_cpu_us
from (
  select * replace (coalesce(program_name, min(program_name) over (partition by interval_start_utc, transaction_code))
    as program_name)
  from event
)
where interval_start_utc is not null
group by all
