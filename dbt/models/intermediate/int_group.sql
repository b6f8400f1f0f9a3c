-- Which classes and jobs form which address-space group of which workload; smf_sid NULL means every system.
select distinct
  trim(system_id) as system_id,
  nullif(trim(smf_sid), '') as smf_sid,
  lower(trim(kind)) as kind,
  trim(pattern) as pattern,
  lower(trim(workload)) as workload,
  lower(nullif(trim(address_space_group), '')) as address_space_group
from {{ ref('stg_etalon_group') }}
