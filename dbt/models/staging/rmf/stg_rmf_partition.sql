select
  file_id, record_seq, section_seq,
  partition_name,
  case proc_type when 'IIP' then 'zIIP' when 'AAP' then 'zAAP' else proc_type end as engine_type,
  msu_actual, msu_defined, total_dispatch_us, effective_dispatch_us
from {{ source('rmf', 'rmf_partition') }}
