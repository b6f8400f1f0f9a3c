{{ config(materialized='view') }}
-- Processor time in an IMS log: of each transaction that was accounted for, else of each schedule that ended.
with described as (
  select event, event_utc, recovery_token, cpu_us, ziip_us,
    coalesce(transaction_code, min(transaction_code) over schedule) as transaction_code,
    coalesce(program_name, min(program_name) over schedule) as program_name,
    coalesce(pst_number, min(pst_number) over schedule) as pst_number,
    case when event = 'account' then 1 else messages end as messages,
    count(cpu_us) filter (where event = 'account') over schedule > 0 as is_accounted
  from {{ ref('stg_ims_log_event') }}
  where recovery_token is not null
  window schedule as (partition by recovery_token)
)

select recovery_token, event_utc as ended_utc, transaction_code, program_name, pst_number, messages, cpu_us, ziip_us
from described
where cpu_us is not null and event = case when is_accounted then 'account' else 'end' end
