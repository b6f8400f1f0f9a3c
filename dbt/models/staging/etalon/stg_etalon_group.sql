select
  file_id,
  system_id::varchar as system_id,
  smf_sid::varchar as smf_sid,
  kind::varchar as kind,
  pattern::varchar as pattern,
  workload::varchar as workload,
  address_space_group::varchar as address_space_group
from {{ source('etalon', 'etalon_group') }}
