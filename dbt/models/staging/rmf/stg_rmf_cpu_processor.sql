select
  file_id, record_seq, section_seq,
  cpu_number,
  case cpu_type when 'CP' then 'CP' when 'IIP' then 'zIIP' when 'AAP' then 'zAAP' end as engine_type,
  online_pct, lpar_busy_pct, mvs_busy_pct, parked_pct, log_proc_share_pct, hiperdispatch_priority,
  io_interrupts_per_s, io_interrupts_tpi_pct
from {{ source('rmf', 'rmf_cpu_processor') }}
