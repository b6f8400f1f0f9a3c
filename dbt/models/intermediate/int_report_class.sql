-- WLM classes as an RMF workload activity report prints them. Its CPU time contains zIIP and zAAP time at CP speed.
with class as (
  select
    r.interval_key, r.interval_s, c.*,
    coalesce(nullif(p.ziip_normalisation_factor, 0), 1) as ziip_normalisation_factor,
    coalesce(nullif(p.zaap_normalisation_factor, 0), 1) as zaap_normalisation_factor
  from {{ ref('int_report') }} r
  join {{ ref('stg_rmf_wlm_class') }} c using (file_id, record_seq)
  left join {{ ref('stg_rmf_wlm_policy') }} p using (file_id, record_seq)
  where r.report = 'WLMGL' and c.class_kind in ('service_class', 'report_class') and c.message is null
  -- Where a class is printed as a whole and by period, the whole counts.
  qualify c.period is null
    or count(*) filter (where c.period is null) over (partition by r.interval_key, c.class_kind, c.class_name) = 0
)

select
  interval_key,
  class_kind,
  class_name,
  'report' as source,
  max(workload_name) as wlm_workload,
  max(policy_name) as policy_name,
  sum(transactions_ended) as transactions_ended,
  null::double as transactions_ended_abnormally,
  sum(transactions_executed) as executions_ended,
  sum(transactions_ended * response_actual_us)::double as elapsed_us,
  sum(transactions_ended * response_execution_us)::double as execution_us,
  sum(service_units) as service_units,
  sum(cpu_s - coalesce(ziip_s, 0) * ziip_normalisation_factor
    - coalesce(zaap_s, 0) * zaap_normalisation_factor) as tcb_s,
  sum(srb_s) as srb_s,
  sum(region_control_s) as region_control_s,
  sum(io_interrupt_s) as io_interrupt_s,
  sum(hiperspace_s) as hiperspace_s,
  sum(ziip_s) as ziip_s,
  sum(interval_s * appl_ziip_on_cp_pct / 100) as ziip_on_cp_s,
  sum(interval_s * transaction_appl_cp_pct / 100) as transaction_cp_s,
  sum(interval_s * transaction_appl_mobile_cp_pct / 100) as mobile_cp_s
from class
group by interval_key, class_kind, class_name
