with job as (
  select
    j.interval_key, j.smf_sid, j.job_name,
    min(j.interval_begin_utc) as begin_utc,
    {{ ratio('epoch_us(max(j.interval_end_utc)) - epoch_us(min(j.interval_begin_utc))', '1e6') }} as seconds,
    sum(j.tcb_s) as tcb_s, sum(j.srb_s) as srb_s, sum(j.region_control_s) as region_control_s,
    sum(j.io_interrupt_s) as io_interrupt_s, sum(j.hiperspace_s) as hiperspace_s, sum(j.cp_s) as cp_s,
    sum(j.ziip_s) as ziip_s, sum(j.ziip_on_cp_s) as ziip_on_cp_s
  from {{ ref('int_job_interval') }} j
  group by j.interval_key, j.smf_sid, j.job_name,
    case when j.interval_key is null then j.interval_begin_utc end
),

job_group as (
  select j.interval_key, j.job_name, min(g.workload) as workload, min(g.address_space_group) as address_space_group
  from job j
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ ref('int_group') }} g
    on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid)
    and g.kind = 'job_name' and j.job_name like g.pattern
  group by j.interval_key, j.job_name
),

cost as (
  select
    j.interval_key, j.smf_sid, 'job' as cost_kind, j.job_name as name, g.workload, g.address_space_group,
    j.begin_utc as start_utc, j.seconds, j.tcb_s, j.srb_s, j.region_control_s, j.io_interrupt_s, j.hiperspace_s,
    j.cp_s, j.ziip_s, j.ziip_on_cp_s, 'job' as source
  from job j
  left join job_group g using (interval_key, job_name)
  union all by name
  select
    g.interval_key, n.smf_sid, 'address_space_group' as cost_kind, g.address_space_group as name, g.workload,
    g.address_space_group, n.interval_start_utc as start_utc, n.interval_s as seconds, g.tcb_s, g.srb_s,
    g.region_control_s, g.io_interrupt_s, g.hiperspace_s, g.cp_s, g.ziip_s, g.ziip_on_cp_s, g.source
  from {{ ref('int_group_interval') }} g
  join {{ ref('int_interval') }} n using (interval_key)
)

select
  c.interval_key::varchar as interval_key,
  coalesce(n.system_id, c.smf_sid)::varchar as system_id,
  c.smf_sid::varchar as smf_sid,
  n.point::varchar as point,
  n.condition::varchar as condition,
  c.start_utc::timestamp as start_utc,
  n.interval_start_local::timestamp as interval_start_local,
  c.seconds::double as seconds,
  c.cost_kind::varchar as cost_kind,
  c.name::varchar as name,
  c.workload::varchar as workload,
  c.address_space_group::varchar as address_space_group,
  c.tcb_s::double as tcb_s,
  c.srb_s::double as srb_s,
  c.region_control_s::double as region_control_s,
  c.io_interrupt_s::double as io_interrupt_s,
  c.hiperspace_s::double as hiperspace_s,
  c.cp_s::double as cp_s,
  c.ziip_s::double as ziip_s,
  c.ziip_on_cp_s::double as ziip_on_cp_s,
  {{ metric('cpu_pct', {'seconds': 'coalesce(n.interval_s, c.seconds)'}) }} as cpu_pct,
  {{ metric('service_cpu_us_per_tran', {'ended': 'w.transactions_ended'}) }} as service_cpu_us_per_tran,
  c.source::varchar as source
from cost c
left join {{ ref('int_interval') }} n using (interval_key)
left join {{ ref('int_workload_interval') }} w
  on w.interval_key = c.interval_key and w.workload = c.workload
