-- WLM classes as an RMF workload activity report prints them, with the goals and results of their periods. Its CPU time
-- contains zIIP and zAAP time at CP speed. A class that is printed as a whole and has goals by period is a row of period
-- 0, its periods are rows with goals and results alone: nothing counts twice.
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
),

goal as (
  select r.interval_key, r.interval_s, g.* exclude (file_id, record_seq, section_seq, period, transactions_ended),
    g.period as period_number,
    count(*) over (partition by r.interval_key, g.class_kind, g.class_name) as periods
  from {{ ref('int_report') }} r
  join {{ ref('stg_rmf_wlm_period') }} g using (file_id, record_seq)
  where r.report = 'WLMGL' and g.class_kind in ('service_class', 'report_class')
),

service as (
  select
    interval_key, class_kind, class_name, interval_s,
    coalesce(period, case when exists (
      from goal g where g.interval_key = class.interval_key and g.class_kind = class.class_kind
        and g.class_name = class.class_name and g.periods > 1) then 0 else 1 end)::integer as period_number,
    workload_name as wlm_workload,
    policy_name,
    ziip_normalisation_factor,
    zaap_normalisation_factor,
    transactions_ended,
    transactions_executed as executions_ended,
    transactions_ended * response_actual_us as elapsed_us,
    transactions_ended * response_execution_us as execution_us,
    interval_s * transactions_avg * 1e6 as active_us,
    interval_s * transactions_mpl * 1e6 as residency_us,
    io_service_units, cpu_service_units, storage_service_units, srb_service_units,
    service_units as total_service_units,
    cpu_s, srb_s, region_control_s, io_interrupt_s, hiperspace_s, ziip_s, zaap_s,
    interval_s * appl_ziip_on_cp_pct / 100 as ziip_on_cp_s,
    interval_s * appl_zaap_on_cp_pct / 100 as zaap_on_cp_s,
    interval_s * transaction_appl_cp_pct / 100 as transaction_cp_s,
    interval_s * transaction_appl_mobile_cp_pct / 100 as mobile_cp_s
  from class
)

select
  interval_key, class_kind, class_name, period_number, 'report' as source,
  coalesce(s.interval_s, g.interval_s) as interval_s,
  s.* exclude (interval_key, class_kind, class_name, period_number, interval_s),
  g.* exclude (interval_key, class_kind, class_name, period_number, interval_s, periods)
from service s
full join goal g using (interval_key, class_kind, class_name, period_number)
