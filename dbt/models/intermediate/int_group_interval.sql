-- CPU of each address-space group in each interval, by component.
select
  interval_key,
  workload,
  address_space_group,
  case when bool_or(member_kind = 'job') then 'job' else 'class' end as source,
  sum(tcb_s) as tcb_s,
  sum(srb_s) as srb_s,
  sum(region_control_s) as region_control_s,
  sum(io_interrupt_s) as io_interrupt_s,
  sum(hiperspace_s) as hiperspace_s,
  sum(cp_s) as cp_s,
  sum(ziip_s) as ziip_s,
  sum(ziip_on_cp_s) as ziip_on_cp_s
from {{ ref('int_group_member') }}
group by interval_key, workload, address_space_group
