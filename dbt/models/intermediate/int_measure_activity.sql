-- Rates, busy time and CPU of a measured point and its workloads, interval by interval, all LPARs taken together.
-- What each metric means stands beside the columns of fct_point.
with system_interval as (
  select
    *,
    -- Mean number of engines online over the whole point: the n in "n engines x busy".
    {{ ratio('sum(cp_online_s) over point', 'sum(seconds) over point') }} as cp_engines
  from {{ ref('int_point_interval') }}
  window point as (partition by system_id, point, condition)
),

key_of as (
  select system_id, point, condition, position, unnest(interval_keys) as interval_key
  from {{ ref('int_point_interval') }}
),

workload_interval as (
  select
    k.system_id, k.point, k.condition, k.position, w.workload,
    sum(w.transactions_ended) as ended,
    sum(w.executions_ended) as executed,
    sum(w.elapsed_us) as elapsed_us,
    sum(w.execution_us) as execution_us,
    sum(w.transaction_cp_s) as transaction_cp_s,
    sum(w.mobile_cp_s) as mobile_cp_s
  from key_of k
  join {{ ref('int_workload_interval') }} w using (interval_key)
  group by all
),

group_interval as (
  select
    k.system_id, k.point, k.condition, k.position, g.workload, g.address_space_group,
    sum(g.cp_s) as cp_s, sum(g.ziip_s) as ziip_s, sum(g.ziip_on_cp_s) as ziip_on_cp_s
  from key_of k
  join {{ ref('int_group_interval') }} g using (interval_key)
  group by all
),

all_groups as (
  select system_id, point, condition, position, workload,
    sum(cp_s) as cp_s, sum(ziip_s) as ziip_s, sum(ziip_on_cp_s) as ziip_on_cp_s
  from group_interval
  group by all
),

named_class as (
  select k.system_id, k.point, k.condition, k.position, g.workload, g.address_space_group as name,
    sum(c.transactions_ended) as ended
  from key_of k
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ ref('int_group') }} g
    on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid)
    and g.kind = 'transaction_class' and g.address_space_group is not null
  join {{ ref('int_class_interval') }} c
    on c.interval_key = n.interval_key and c.class_kind = 'report_class' and c.class_name like g.pattern
  group by all
),

system_measure as (
  select system_id, point, condition, is_run, position, seconds, null::varchar as workload, unnest([
    {'metric': 'cpu_busy_pct', 'unit': 'pct', 'scale': 100.0, 'numerator': cp_busy_s, 'denominator': cp_online_s},
    {'metric': 'lpar_busy_pct', 'unit': 'pct', 'scale': 100.0, 'numerator': cp_lpar_busy_s,
      'denominator': cp_online_s},
    {'metric': 'mvs_busy_pct', 'unit': 'pct', 'scale': 100.0, 'numerator': cp_mvs_busy_s,
      'denominator': cp_mvs_available_s},
    {'metric': 'ziip_busy_pct', 'unit': 'pct', 'scale': 100.0, 'numerator': ziip_busy_s,
      'denominator': ziip_online_s},
    {'metric': 'total_busy_pct', 'unit': 'pct', 'scale': 100.0, 'numerator': all_busy_s,
      'denominator': all_online_s},
    {'metric': 'engines', 'unit': 'engines', 'scale': 1.0, 'numerator': cp_online_s, 'denominator': seconds},
    {'metric': 'ziip_engines', 'unit': 'engines', 'scale': 1.0, 'numerator': ziip_online_s, 'denominator': seconds},
    {'metric': 'capture_ratio', 'unit': 'ratio', 'scale': 1.0, 'numerator': captured_cp_s, 'denominator': cp_busy_s}
  ], recursive := true)
  from system_interval
),

workload_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, w.workload, unnest([
    {'metric': 'etr_tps', 'unit': 'tran/s', 'scale': 1.0, 'numerator': w.ended, 'denominator': s.seconds},
    {'metric': 'executed_tps', 'unit': 'tran/s', 'scale': 1.0, 'numerator': w.executed, 'denominator': s.seconds},
    {'metric': 'itr_tps', 'unit': 'tran/s', 'scale': 1.0, 'numerator': w.ended,
      'denominator': {{ ratio('s.cp_busy_s', 's.cp_engines') }}},
    {'metric': 'cpu_us_per_tran', 'unit': 'us/tran', 'scale': 1e6, 'numerator': s.cp_busy_s, 'denominator': w.ended},
    {'metric': 'ziip_us_per_tran', 'unit': 'us/tran', 'scale': 1e6, 'numerator': s.ziip_thread_busy_s,
      'denominator': w.ended},
    {'metric': 'service_cpu_us_per_tran', 'unit': 'us/tran', 'scale': 1e6, 'numerator': a.cp_s,
      'denominator': w.ended},
    {'metric': 'ziip_service_us_per_tran', 'unit': 'us/tran', 'scale': 1e6, 'numerator': a.ziip_s,
      'denominator': w.ended},
    {'metric': 'transaction_cpu_pct', 'unit': 'pct of one CP', 'scale': 100.0, 'numerator': w.transaction_cp_s,
      'denominator': s.seconds},
    {'metric': 'mobile_cpu_pct', 'unit': 'pct of one CP', 'scale': 100.0, 'numerator': w.mobile_cp_s,
      'denominator': s.seconds},
    {'metric': 'total_' || w.workload || '_cpu_pct', 'unit': 'pct of one CP', 'scale': 100.0, 'numerator': a.cp_s,
      'denominator': s.seconds},
    {'metric': 'total_' || w.workload || '_response_ms', 'unit': 'ms', 'scale': 1e-3, 'numerator': w.elapsed_us,
      'denominator': w.ended},
    {'metric': w.workload || '_execution_ms', 'unit': 'ms', 'scale': 1e-3, 'numerator': w.execution_us,
      'denominator': w.ended}
  ], recursive := true)
  from workload_interval w
  join system_interval s using (system_id, point, condition, position)
  left join all_groups a using (system_id, point, condition, position, workload)
),

group_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, g.workload, unnest([
    {'metric': g.address_space_group || '_cpu_pct', 'unit': 'pct of one CP', 'scale': 100.0, 'numerator': g.cp_s,
      'denominator': s.seconds},
    {'metric': g.address_space_group || '_cpu_us_per_tran', 'unit': 'us/tran', 'scale': 1e6, 'numerator': g.cp_s,
      'denominator': w.ended},
    {'metric': g.address_space_group || '_ziip_us_per_tran', 'unit': 'us/tran', 'scale': 1e6, 'numerator': g.ziip_s,
      'denominator': w.ended}
  ], recursive := true)
  from group_interval g
  join system_interval s using (system_id, point, condition, position)
  left join workload_interval w using (system_id, point, condition, position, workload)
),

class_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, c.workload,
    c.name || '_tps' as metric, 'tran/s' as unit, 1.0 as scale, c.ended as numerator, s.seconds as denominator
  from named_class c
  join system_interval s using (system_id, point, condition, position)
)

select *, '' as subject, 'ratio' as aggregation from (
  select * from system_measure
  union all by name
  select * from workload_measure
  union all by name
  select * from group_measure
  union all by name
  select * from class_measure
)
where numerator is not null and denominator is not null
