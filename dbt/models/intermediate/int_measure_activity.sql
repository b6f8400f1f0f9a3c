-- Rates, busy time and CPU of a measured point and its workloads, interval by interval, all LPARs taken together.
-- What each metric means stands in the registry of metrics, dbt_project.yml.
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
  select system_id, point, condition, is_run, position, seconds, null::varchar as workload,
    unnest({{ measures_of('system') }}, recursive := true)
  from system_interval
),

whole_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, w.workload,
    unnest({{ measures_of('workload_alone', 'w.workload') }}, recursive := true)
  from workload_interval w
  join alone using (system_id, point, condition)
  join system_interval s using (system_id, point, condition, position)
),

workload_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, w.workload,
    unnest({{ measures_of('workload', 'w.workload') }}, recursive := true)
  from workload_interval w
  join system_interval s using (system_id, point, condition, position)
  left join all_groups a using (system_id, point, condition, position, workload)
),

group_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, g.workload,
    unnest({{ measures_of('group', 'g.address_space_group') }}, recursive := true)
  from group_interval g
  join system_interval s using (system_id, point, condition, position)
  left join workload_interval w using (system_id, point, condition, position, workload)
),

class_measure as (
  select s.system_id, s.point, s.condition, s.is_run, s.position, s.seconds, c.workload,
    unnest({{ measures_of('transaction_class', 'c.name') }}, recursive := true)
  from named_class c
  join system_interval s using (system_id, point, condition, position)
)

select *, '' as subject from (
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
