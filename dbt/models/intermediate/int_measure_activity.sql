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

workload_interval as (
  select
    k.system_id, k.point, k.condition, k.position, w.workload,
    sum(k.share * w.transactions_ended) as ended,
    sum(k.share * w.executions_ended) as executed,
    sum(k.share * w.elapsed_us) as elapsed_us,
    sum(k.share * w.execution_us) as execution_us,
    sum(k.share * w.transaction_cp_s) as transaction_cp_s,
    sum(k.share * w.mobile_cp_s) as mobile_cp_s,
    max(w.workloads) as workloads
  from {{ ref('int_point_share') }} k
  join {{ ref('int_workload_interval') }} w using (interval_key)
  group by all
),

-- Points in which one workload has the system to itself: only there is what the whole system does per transaction a
-- property of the workload.
alone as (
  select system_id, point, condition
  from workload_interval
  group by all
  having max(workloads) <= 1 and count(distinct workload) filter (where ended > 0) <= 1
),

group_interval as (
  select
    k.system_id, k.point, k.condition, k.position, g.workload, g.address_space_group,
    sum(k.share * g.cp_s) as cp_s, sum(k.share * g.ziip_s) as ziip_s, sum(k.share * g.ziip_on_cp_s) as ziip_on_cp_s
  from {{ ref('int_point_share') }} k
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
  select k.system_id, k.point, k.condition, k.position, c.workload, c.name,
    sum(k.share * c.transactions_ended) as ended
  from {{ ref('int_point_share') }} k
  join {{ transaction_classes() }} c using (interval_key)
  where c.name is not null
  group by all
),

system_measure as (
  select system_id, point, condition, is_run, position, seconds, null::varchar as workload, unnest([
    {% for metric in ['cpu_busy_pct', 'lpar_busy_pct', 'mvs_busy_pct', 'engines', 'cps_busy', 'capture_ratio'] -%}
    {{ measure(metric, {'busy_s': 'cp_busy_s', 'online_s': 'cp_online_s', 'lpar_busy_s': 'cp_lpar_busy_s',
      'mvs_busy_s': 'cp_mvs_busy_s', 'mvs_available_s': 'cp_mvs_available_s', 'captured_s': 'captured_cp_s'}) }},
    {% endfor -%}
    {{ measure('cpu_busy_pct', {'busy_s': 'ziip_busy_s', 'online_s': 'ziip_online_s'}, "'ziip_busy_pct'") }},
    {{ measure('engines', {'online_s': 'ziip_online_s'}, "'ziip_engines'") }},
    {{ measure('thread_density', {'busy_s': 'ziip_busy_s', 'thread_busy_s': 'ziip_thread_busy_s'}) }},
    {{ measure('cpu_busy_pct', {'busy_s': 'all_busy_s', 'online_s': 'all_online_s'}, "'total_busy_pct'") }}
  ], recursive := true)
  from system_interval
),

whole_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, w.workload, unnest([
    {% for metric in ['itr_tps', 'cpu_us_per_tran', 'ziip_us_per_tran'] -%}
    {{ measure(metric, {'busy_s': 's.cp_busy_s', 'engines': 's.cp_engines', 'thread_busy_s': 's.ziip_thread_busy_s'}) }}
    {{- ',' if not loop.last }}
    {% endfor -%}
  ], recursive := true)
  from workload_interval w
  join alone using (system_id, point, condition)
  join system_interval s using (system_id, point, condition, position)
),

workload_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, w.workload, unnest([
    {% for metric in ['etr_tps', 'executed_tps', 'service_cpu_us_per_tran', 'uncaptured_us_per_tran', 'service_share_pct',
        'ziip_service_us_per_tran', 'ziip_on_cp_us_per_tran', 'transaction_cpu_pct', 'transaction_share_pct',
        'mobile_cpu_pct', 'mobile_cpu_us_per_tran', 'transactions_inside'] -%}
    {{ measure(metric, {'seconds': 's.seconds', 'busy_s': 's.cp_busy_s', 'captured_s': 's.captured_cp_s'}) }},
    {% endfor -%}
    {{ measure('cpu_pct', {'seconds': 's.seconds'}, "'total_' || w.workload || '_cpu_pct'") }},
    {{ measure('cps_used', {'seconds': 's.seconds'}, "'total_' || w.workload || '_cps_used'") }},
    {{ measure('response_ms', called="'total_' || w.workload || '_response_ms'") }},
    {{ measure('execution_ms', called="w.workload || '_execution_ms'") }}
  ], recursive := true)
  from workload_interval w
  join system_interval s using (system_id, point, condition, position)
  left join all_groups a using (system_id, point, condition, position, workload)
),

group_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, g.workload, unnest([
    {{ measure('cpu_pct', {'seconds': 's.seconds'}, "g.address_space_group || '_cpu_pct'") }},
    {{ measure('service_cpu_us_per_tran', called="g.address_space_group || '_cpu_us_per_tran'") }},
    {{ measure('ziip_service_us_per_tran', called="g.address_space_group || '_ziip_us_per_tran'") }}
  ], recursive := true)
  from group_interval g
  join system_interval s using (system_id, point, condition, position)
  left join workload_interval w using (system_id, point, condition, position, workload)
),

class_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, c.workload,
    unnest({{ measure('etr_tps', {'seconds': 's.seconds', 'ended': 'c.ended'}, "c.name || '_tps'") }})
  from named_class c
  join system_interval s using (system_id, point, condition, position)
)

select *, '' as subject, 'ratio' as aggregation from (
  select * from system_measure
  union all by name
  select * from whole_measure
  union all by name
  select * from workload_measure
  union all by name
  select * from group_measure
  union all by name
  select * from class_measure
)
where numerator is not null and denominator is not null
