select
  file_id, record_seq,
  report, report_option, description, report_type, resource_name, resource_type,
  coalesce(system_name, resource_name) as smf_sid,
  system_name, sysplex_name,
  interval_start_local, interval_end_local, interval_start_utc, interval_end_utc, interval_s,
  smf_version, rmf_version, status, message_id, message_text, message_severity
from {{ source('rmf', 'rmf_report') }}
