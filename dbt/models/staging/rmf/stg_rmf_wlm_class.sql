select
  file_id, record_seq, section_seq,
  class_kind, class_name, period, policy_name, workload_name, description, message,
  transactions_avg, transactions_mpl, transactions_ended, transactions_ended_per_s, transactions_executed,
  response_actual_us, response_execution_us, response_stddev_us,
  transaction_appl_cp_pct, transaction_appl_mobile_cp_pct,
  service_ioc_su as io_service_units, service_cpu_su as cpu_service_units, service_mso_su as storage_service_units,
  service_srb_su as srb_service_units, service_total_su as service_units,
  service_su_per_s as service_per_s, service_absorption_su_per_s as absorption_per_s,
  service_transaction_su_per_s as transaction_service_per_s,
  cpu_s, srb_s, rct_s as region_control_s, iit_s as io_interrupt_s, hst_s as hiperspace_s, ziip_s, zaap_s,
  appl_cp_pct, appl_ziip_on_cp_pct, appl_ziip_pct, appl_zaap_on_cp_pct, appl_zaap_pct
from {{ source('rmf', 'rmf_wlm_class') }}
