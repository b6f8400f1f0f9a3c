-- The classes and jobs that make up each address-space group in each interval. Where both are named for a group, the
-- classes count: their service covers all work of the group and is not rounded to hundredths of a second.
with class_member as (
  select n.interval_key, g.workload, g.address_space_group, c.class_kind as member_kind, c.class_name as member,
    c.tcb_s, c.srb_s, c.region_control_s, c.io_interrupt_s, c.hiperspace_s, c.cp_s, c.ziip_s, c.ziip_on_cp_s
  from {{ ref('int_interval') }} n
  join {{ ref('int_group') }} g
    on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid)
    and g.kind in ('report_class', 'service_class') and g.address_space_group is not null
  join {{ ref('int_class_interval') }} c
    on c.interval_key = n.interval_key and c.class_kind = g.kind and c.class_name like g.pattern
),

job_member as (
  select j.interval_key, g.workload, g.address_space_group, 'job' as member_kind, j.job_name as member,
    sum(j.tcb_s) as tcb_s, sum(j.srb_s) as srb_s, sum(j.region_control_s) as region_control_s,
    sum(j.io_interrupt_s) as io_interrupt_s, sum(j.hiperspace_s) as hiperspace_s, sum(j.cp_s) as cp_s,
    sum(j.ziip_s) as ziip_s, sum(j.ziip_on_cp_s) as ziip_on_cp_s
  from {{ ref('int_job_interval') }} j
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ ref('int_group') }} g
    on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid)
    and g.kind = 'job_name' and g.address_space_group is not null and j.job_name like g.pattern
  group by j.interval_key, g.workload, g.address_space_group, j.job_name
),

members as (
  select * from class_member
  union all by name
  select * from job_member
)

-- A member that several patterns of one group match counts once.
select distinct *
from members
qualify bool_or(member_kind <> 'job') over (partition by interval_key, workload, address_space_group)
  = (member_kind <> 'job')
