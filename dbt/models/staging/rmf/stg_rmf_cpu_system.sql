select
  file_id, record_seq, section_seq,
  cpu_type as cpc_type, model as cpc_model, hw_model as cpc_physical_model, sequence_code,
  hiperdispatch = 'YES' as is_hiperdispatch_active,
  cpc_capacity_msu
from {{ source('rmf', 'rmf_cpu_system') }}
