select
  file_id, record_seq, section_seq,
  definition_name, policy_name, ioc_coefficient as io_coefficient, cpu_coefficient, srb_coefficient,
  mso_coefficient as storage_coefficient, zaap_normalization as zaap_normalisation_factor,
  ziip_normalization as ziip_normalisation_factor
from {{ source('rmf', 'rmf_wlm_policy') }}
