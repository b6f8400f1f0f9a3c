-- One row per WLM class and interval: its periods summed.
select
  interval_key,
  class_kind,
  class_name,
  any_value(source) as source,
  max(wlm_workload) as wlm_workload,
  max(policy_name) as policy_name,
  {% for column in ['transactions_ended', 'transactions_ended_abnormally', 'executions_ended', 'elapsed_us',
      'total_service_units', 'tcb_s', 'srb_s', 'region_control_s', 'io_interrupt_s', 'hiperspace_s', 'cp_s', 'ziip_s',
      'ziip_on_cp_s', 'transaction_cp_s', 'mobile_cp_s'] -%}
  sum({{ column }})::double as {{ column }},
  {% endfor -%}
  -- zIIPs may be faster than CPs of a sub-capacity model: only time at one speed can be added to or held against other time.
  sum(ziip_s * ziip_normalisation_factor)::double as ziip_at_cp_speed_s,
  nullif(sum(execution_us), 0)::double as execution_us
from {{ ref('int_class_period') }}
group by interval_key, class_kind, class_name
