with cp as (
  select interval_key, busy_s, online_s
  from {{ ref('int_engine_interval') }}
  where engine_type = 'CP'
),

captured as (
  select interval_key, sum(cp_s) as captured_s
  from {{ ref('int_class_interval') }}
  where class_kind = 'service_class'
  group by interval_key
),

group_cost as (
  select
    g.interval_key,
    g.workload,
    sum(g.cp_s) as cp_s,
    sum(g.ziip_s) as ziip_s,
    sum(g.ziip_on_cp_s) as ziip_on_cp_s,
    map_from_entries(list((g.address_space_group,
      {{ metric('service_cpu_us_per_tran', {'cp_s': 'g.cp_s', 'ended': 'w.transactions_ended'}) }}) order by g.address_space_group)) as group_cpu_us_per_tran
  from {{ ref('int_group_interval') }} g
  left join {{ ref('int_workload_interval') }} w using (interval_key, workload)
  group by g.interval_key, g.workload
),

workload_row as (
  select
    w.interval_key, w.workload, 'workload' as class_kind, w.workload as class_name, 'record' as source,
    w.transactions_ended, w.executions_ended, w.elapsed_us, w.execution_us, w.transaction_cp_s, w.mobile_cp_s,
    g.cp_s, g.ziip_s, g.ziip_on_cp_s, g.group_cpu_us_per_tran, w.workloads <= 1 as has_lpar_alone
  from {{ ref('int_workload_interval') }} w
  left join group_cost g using (interval_key, workload)
),

class_workload as (
  select interval_key, class_kind, class_name, min(workload) as workload, min(name) as transaction_class
  from (
    select interval_key, class_kind, class_name, workload, name from {{ transaction_classes() }}
    union all
    select c.interval_key, c.class_kind, c.class_name, g.workload, null
    from {{ ref('int_class_interval') }} c
    join {{ ref('int_interval') }} n using (interval_key)
    join {{ ref('int_group') }} g
      on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid)
      and c.class_kind = g.kind and c.class_name like g.pattern
  )
  group by interval_key, class_kind, class_name
),

class_row as (
  select
    c.interval_key, coalesce(g.workload, c.wlm_workload) as workload, c.class_kind, c.class_name, g.transaction_class, c.source,
    c.transactions_ended, c.executions_ended, c.elapsed_us, c.execution_us, c.transaction_cp_s, c.mobile_cp_s,
    c.cp_s, c.ziip_s, c.ziip_on_cp_s, null::map(varchar, double) as group_cpu_us_per_tran
  from {{ ref('int_class_interval') }} c
  left join class_workload g using (interval_key, class_kind, class_name)
),

cost as (
  select * from workload_row
  union all by name
  select * from class_row
),

measured as (
  select n.* exclude (source), c.* exclude (interval_key, source), c.source as cost_source, cp.busy_s, cp.online_s, captured.captured_s,
    c.transactions_ended as ended, c.executions_ended as executed, n.interval_s as seconds,
    {{ metric('engines', {'seconds': 'n.interval_s'}) }} as engines
  from cost c
  join {{ ref('int_interval') }} n using (interval_key)
  left join cp using (interval_key)
  left join captured using (interval_key)
)

select
  {{ interval_identity() }},
  workload::varchar as workload,
  class_kind::varchar as class_kind,
  class_name::varchar as class_name,
  transaction_class::varchar as transaction_class,
  transactions_ended::double as transactions_ended,
  {{ metric('etr_tps') }} as etr_tps,
  {{ metric('executed_tps') }} as executed_tps,
  {{ metric('cpu_busy_pct') }} as cpu_busy_pct,
  case when has_lpar_alone then {{ metric('itr_tps') }} end as itr_tps,
  case when has_lpar_alone then {{ metric('cpu_us_per_tran') }} end as cpu_us_per_tran,
  {{ metric('service_cpu_us_per_tran') }} as service_cpu_us_per_tran,
  case when class_kind = 'workload' then {{ metric('uncaptured_us_per_tran') }} end as uncaptured_us_per_tran,
  group_cpu_us_per_tran::map(varchar, double) as group_cpu_us_per_tran,
  {{ metric('cpu_pct') }} as appl_cp_pct,
  {{ metric('ziip_service_us_per_tran') }} as ziip_service_us_per_tran,
  {{ metric('ziip_on_cp_us_per_tran') }} as ziip_on_cp_us_per_tran,
  {{ metric('transaction_cpu_pct') }} as transaction_cpu_pct,
  {{ metric('mobile_cpu_pct') }} as mobile_cpu_pct,
  {{ metric('response_ms') }} as response_ms,
  {{ metric('execution_ms') }} as execution_ms,
  cost_source::varchar as source
from measured
