with cp as (
  select interval_key, engines, busy_s, {{ ratio('busy_s', 'online_s') }} as busy,
    {{ ratio('online_s', 'engines') }} as online_s
  from {{ ref('int_engine_interval') }}
  where engine_type = 'CP'
),

group_cost as (
  select
    g.interval_key,
    g.workload,
    sum(g.cp_s) as cp_s,
    sum(g.ziip_s) as ziip_s,
    sum(g.ziip_on_cp_s) as ziip_on_cp_s,
    map_from_entries(list((g.address_space_group, 1e6 * {{ ratio('g.cp_s', 'w.transactions_ended') }})
      order by g.address_space_group)) as group_cpu_us_per_tran
  from {{ ref('int_group_interval') }} g
  left join {{ ref('int_workload_interval') }} w using (interval_key, workload)
  group by g.interval_key, g.workload
),

workload_row as (
  select
    w.interval_key, w.workload, 'workload' as class_kind, w.workload as class_name, 'record' as source,
    w.transactions_ended, w.executions_ended, w.elapsed_us, w.execution_us, w.transaction_cp_s, w.mobile_cp_s,
    g.cp_s, g.ziip_s, g.ziip_on_cp_s, g.group_cpu_us_per_tran
  from {{ ref('int_workload_interval') }} w
  left join group_cost g using (interval_key, workload)
),

class_workload as (
  select c.interval_key, c.class_kind, c.class_name, min(g.workload) as workload
  from {{ ref('int_class_interval') }} c
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ ref('int_group') }} g
    on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid)
    and c.class_kind = case g.kind when 'transaction_class' then 'report_class' else g.kind end
    and c.class_name like g.pattern
  group by c.interval_key, c.class_kind, c.class_name
),

class_row as (
  select
    c.interval_key, coalesce(g.workload, c.wlm_workload) as workload, c.class_kind, c.class_name, c.source,
    c.transactions_ended, c.executions_ended, c.elapsed_us, c.execution_us, c.transaction_cp_s, c.mobile_cp_s,
    c.cp_s, c.ziip_s, c.ziip_on_cp_s, null::map(varchar, double) as group_cpu_us_per_tran
  from {{ ref('int_class_interval') }} c
  left join class_workload g using (interval_key, class_kind, class_name)
),

cost as (
  select * from workload_row
  union all by name
  select * from class_row
)

select
  n.interval_key::varchar as interval_key,
  n.system_id::varchar as system_id,
  n.smf_sid::varchar as smf_sid,
  n.point::varchar as point,
  n.condition::varchar as condition,
  n.interval_start_utc::timestamp as interval_start_utc,
  n.interval_start_local::timestamp as interval_start_local,
  n.interval_s::double as interval_s,
  c.workload::varchar as workload,
  c.class_kind::varchar as class_kind,
  c.class_name::varchar as class_name,
  c.transactions_ended::double as transactions_ended,
  {{ ratio('c.transactions_ended', 'n.interval_s') }}::double as etr_tps,
  {{ ratio('c.executions_ended', 'n.interval_s') }}::double as executed_tps,
  (100 * cp.busy)::double as cpu_busy_pct,
  case when c.class_kind = 'workload' then {{ ratio(ratio('c.transactions_ended', 'n.interval_s'), 'cp.busy') }} end::double
    as itr_tps,
  case when c.class_kind = 'workload' then 1e6 * {{ ratio('cp.busy_s', 'c.transactions_ended') }} end::double
    as cpu_us_per_tran,
  (1e6 * {{ ratio('c.cp_s', 'c.transactions_ended') }})::double as service_cpu_us_per_tran,
  c.group_cpu_us_per_tran::map(varchar, double) as group_cpu_us_per_tran,
  (100 * {{ ratio('c.cp_s', 'n.interval_s') }})::double as appl_cp_pct,
  (1e6 * {{ ratio('c.ziip_s', 'c.transactions_ended') }})::double as ziip_service_us_per_tran,
  (1e6 * {{ ratio('c.ziip_on_cp_s', 'c.transactions_ended') }})::double as ziip_on_cp_us_per_tran,
  (100 * {{ ratio('c.transaction_cp_s', 'n.interval_s') }})::double as transaction_cpu_pct,
  (100 * {{ ratio('c.mobile_cp_s', 'n.interval_s') }})::double as mobile_cpu_pct,
  (1e-3 * {{ ratio('c.elapsed_us', 'c.transactions_ended') }})::double as response_ms,
  (1e-3 * {{ ratio('c.execution_us', 'c.transactions_ended') }})::double as execution_ms,
  c.source::varchar as source
from cost c
join {{ ref('int_interval') }} n using (interval_key)
left join cp using (interval_key)
