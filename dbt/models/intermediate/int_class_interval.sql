-- One row per WLM class and interval: its periods summed, service units turned into seconds of CPU.
-- The CPU service of a class contains its zIIP and zAAP work at CP speed; that part is taken out of the CP seconds.
with period as (
  select
    r.interval_key, r.class_kind, r.class_name, r.interval_s,
    nullif(trim(c.workload_name), '') as wlm_workload,
    nullif(trim(c.policy_name), '') as policy_name,
    c.cpu_coefficient, c.srb_coefficient, c.cpu_rate_adjustment,
    coalesce(nullif(c.ziip_normalisation_factor, 0), 1) as ziip_normalisation_factor,
    coalesce(nullif(c.zaap_normalisation_factor, 0), 1) as zaap_normalisation_factor,
    p.*
  from {{ ref('int_record') }} r
  join {{ ref('stg_smf72_3_control') }} c using (file_id, record_seq)
  join {{ ref('stg_smf72_3_period') }} p using (file_id, record_seq)
  where r.record_type = '72.3'
),

seconds as (
  select
    *,
    {{ service_seconds('cpu_service_units', 'cpu_coefficient', 'cpu_rate_adjustment') }} as cpu_s,
    {{ service_seconds('srb_service_units', 'srb_coefficient', 'cpu_rate_adjustment') }} as srb_s,
    {{ service_seconds('ziip_service_units', 'cpu_coefficient', 'cpu_rate_adjustment') }} as ziip_s,
    {{ service_seconds('zaap_service_units', 'cpu_coefficient', 'cpu_rate_adjustment') }} as zaap_s,
    {{ service_seconds('ziip_on_cp_service_units', 'cpu_coefficient', 'cpu_rate_adjustment') }} as ziip_on_cp_s,
    {{ service_seconds('transaction_cp_service_units', 'cpu_coefficient', 'cpu_rate_adjustment') }} as transaction_cp_s,
    {{ service_seconds('mobile_cp_service_units', 'cpu_coefficient', 'cpu_rate_adjustment') }} as mobile_cp_s
  from period
),

recorded as (
  select
    interval_key,
    class_kind,
    class_name,
    'record' as source,
    max(wlm_workload) as wlm_workload,
    max(policy_name) as policy_name,
    sum(transactions_ended)::double as transactions_ended,
    sum(transactions_ended_abnormally)::double as transactions_ended_abnormally,
    sum(executions_ended)::double as executions_ended,
    sum(coalesce(nullif(elapsed_precise_us, 0), nullif(elapsed_us, 0))) as elapsed_us,
    sum(coalesce(nullif(execution_precise_us, 0), nullif(execution_us, 0))) as execution_us,
    sum(service_units) as service_units,
    sum(cpu_s - coalesce(ziip_s, 0) * ziip_normalisation_factor
      - coalesce(zaap_s, 0) * zaap_normalisation_factor) as tcb_s,
    sum(srb_s) as srb_s,
    sum(region_control_us) / 1e6 as region_control_s,
    sum(io_interrupt_us) / 1e6 as io_interrupt_s,
    sum(hiperspace_us) / 1e6 as hiperspace_s,
    sum(ziip_s) as ziip_s,
    sum(ziip_on_cp_s) as ziip_on_cp_s,
    sum(transaction_cp_s) as transaction_cp_s,
    sum(mobile_cp_s) as mobile_cp_s
  from seconds
  group by interval_key, class_kind, class_name
),

classes as (
  select * from recorded
  union all by name
  select * from {{ ref('int_report_class') }}
  anti join recorded using (interval_key)
),

totalled as (
  select
    *,
    coalesce(tcb_s, 0) + coalesce(srb_s, 0) + coalesce(region_control_s, 0) + coalesce(io_interrupt_s, 0)
      + coalesce(hiperspace_s, 0) as cp_s,
    -- Transactions end, yet no service is recorded: it is accounted to another class or was not written. Unknown, not 0.
    coalesce(transactions_ended, 0) > 0 and cp_s = 0 and coalesce(ziip_s, 0) = 0 and coalesce(service_units, 0) = 0
      as lacks_service,
    coalesce(transactions_ended, 0) > 0 and coalesce(transaction_cp_s, 0) = 0 as lacks_transaction_service
  from classes
)

select * exclude (lacks_service, lacks_transaction_service) replace (
  {% for column in ['service_units', 'tcb_s', 'srb_s', 'region_control_s', 'io_interrupt_s', 'hiperspace_s', 'ziip_s',
      'ziip_on_cp_s', 'cp_s'] -%}
  case when not lacks_service then {{ column }} end as {{ column }},
  {% endfor -%}
  case when not lacks_transaction_service then transaction_cp_s end as transaction_cp_s,
  -- Mobile service is part of it: none is none where the whole is known.
  case when not lacks_transaction_service or mobile_cp_s > 0 then mobile_cp_s end as mobile_cp_s)
from totalled
