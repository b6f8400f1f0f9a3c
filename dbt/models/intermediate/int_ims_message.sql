-- One row per unit of work of an IMS log. A time that no record gives is NULL.
with moment as (
  select
    unit_of_work,
    min(event_utc) filter (where event = 'arrival') as arrival_utc,
    min(event_utc) filter (where event = 'enqueue') as enqueued_utc,
    min(event_utc) filter (where event = 'get') as got_utc,
    min(event_utc) filter (where event = 'output') as output_utc,
    max(event_utc) filter (where event = 'dequeue') as left_utc,
    min(transaction_code) as transaction_code,
    min(program_name) as program_name,
    min(lterm) as lterm,
    min(user_id) as user_id
  from {{ ref('stg_ims_log_event') }}
  where unit_of_work is not null
  group by unit_of_work
)

select
  *,
  date_diff('microsecond', enqueued_utc, got_utc) as input_queue_us,
  date_diff('microsecond', output_utc, left_utc) as output_queue_us,
  date_diff('microsecond', arrival_utc, left_utc) as response_us
from moment
