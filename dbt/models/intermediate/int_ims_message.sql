-- One row per unit of work of an IMS log. A time that no record gives is NULL. A program works on a message until its region
-- takes the next one, accounts for it, reaches a sync point or ends: regions are told apart within a log.
with turn as (
  select unit_of_work, event, event_utc,
    lead(event_utc) over (partition by file_id, pst_number order by event_utc, log_seq, record_seq) as next_utc
  from {{ ref('stg_ims_log_event') }}
  where pst_number is not null and event in ('get', 'account', 'syncpoint', 'end')
),

processed as (
  select unit_of_work, date_diff('microsecond', min(event_utc), arg_min(next_utc, event_utc)) as processing_us
  from turn
  where event = 'get' and unit_of_work is not null and next_utc is not null
  group by unit_of_work
),

moment as (
  select
    unit_of_work,
    min(event_utc) filter (where event = 'arrival') as arrival_utc,
    min(event_utc) filter (where event = 'enqueue') as enqueued_utc,
    min(event_utc) filter (where event = 'get') as got_utc,
    min(event_utc) filter (where event = 'output') as output_utc,
    max(event_utc) filter (where event = 'dequeue') as left_utc,
    max(event_utc) as last_utc,
    min(transaction_code) as transaction_code,
    min(program_name) as program_name,
    arg_min(pst_number, event_utc) filter (where event = 'get') as pst_number,
    min(lterm) as lterm,
    min(user_id) as user_id
  from {{ ref('stg_ims_log_event') }}
  where unit_of_work is not null
  group by unit_of_work
)

select
  m.*,
  date_diff('microsecond', enqueued_utc, got_utc) as input_queue_us,
  p.processing_us,
  date_diff('microsecond', output_utc, left_utc) as output_queue_us,
  date_diff('microsecond', arrival_utc, left_utc) as response_us
from moment m
left join processed p using (unit_of_work)
