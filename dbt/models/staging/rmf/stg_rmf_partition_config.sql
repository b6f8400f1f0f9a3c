select
  file_id, record_seq,
  partition_name, image_capacity_msu, cp_processors
from {{ source('rmf', 'rmf_partition_config') }}
