-- One row per recovery token of an IMS log. Accounting records have the processor time of each transaction; without
-- them, the record of the end has that of the schedule.
with moment as (
  select
    recovery_token,
    min(event_utc) filter (where event = 'schedule') as scheduled_utc,
    max(event_utc) filter (where event = 'end') as ended_utc,
    max(event_utc) filter (where event = 'syncpoint') as last_syncpoint_utc,
    min(transaction_code) as transaction_code,
    min(program_name) as program_name,
    min(pst_number) as pst_number,
    coalesce(sum(messages) filter (where event = 'end'), count(*) filter (where event = 'account')) as messages,
    coalesce(sum(cpu_us) filter (where event = 'account'), sum(cpu_us) filter (where event = 'end')) as cpu_us,
    coalesce(sum(ziip_us) filter (where event = 'account'), sum(ziip_us) filter (where event = 'end')) as ziip_us
  from {{ ref('stg_ims_log_event') }}
  where recovery_token is not null
  group by recovery_token
)

select
  *,
  date_diff('microsecond', scheduled_utc, ended_utc) as elapsed_us,
  cpu_us / nullif(messages, 0) as cpu_us_per_message
from moment
