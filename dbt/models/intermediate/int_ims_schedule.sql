-- One row per recovery token of an IMS log, with the processor time that int_ims_work has of it.
with moment as (
  select
    recovery_token,
    min(event_utc) filter (where event = 'schedule') as scheduled_utc,
    max(event_utc) filter (where event = 'end') as ended_utc,
    max(event_utc) filter (where event = 'syncpoint') as last_syncpoint_utc,
    min(transaction_code) as transaction_code,
    min(program_name) as program_name,
    min(pst_number) as pst_number,
    coalesce(sum(messages) filter (where event = 'end'), count(*) filter (where event = 'account')) as messages
  from {{ ref('stg_ims_log_event') }}
  where recovery_token is not null
  group by recovery_token
),

work as (
  select recovery_token, sum(cpu_us) as cpu_us, sum(ziip_us) as ziip_us
  from {{ ref('int_ims_work') }}
  group by recovery_token
)

select
  m.*,
  w.cpu_us,
  w.ziip_us,
  date_diff('microsecond', scheduled_utc, ended_utc) as elapsed_us,
  cpu_us / nullif(messages, 0) as cpu_us_per_message
from moment m
left join work w using (recovery_token)
