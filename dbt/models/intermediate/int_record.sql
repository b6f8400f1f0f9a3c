-- One row per RMF record that is counted. Of several records of an interval the first
-- written is kept, as everywhere (`first_written`), and `copies` says how many there were. A record whose interval is not known, because
-- its date or length is not valid, belongs to none.
with records as (
  select '70.1' as record_type, file_id, record_seq, smf_sid, sysplex_name, system_name, written_local,
    interval_start_utc, interval_start_local, interval_s, '' as class_kind, '' as class_name, ipl_utc,
    nullif(trim(cpc_serial), '') as cpc_serial
  from {{ source('staging', 'stg_smf70_1_control') }}
  union all
  select '72.3', file_id, record_seq, smf_sid, sysplex_name, system_name, written_local,
    interval_start_utc, interval_start_local, interval_s,
    case when is_report_class then 'report_class' else 'service_class' end, trim(class_name),
    null, null
  from {{ source('staging', 'stg_smf72_3_control') }}
)
select
  *,
  count(*) over same_interval as copies,
  {{ interval_key('smf_sid', 'interval_start_utc', 'interval_start_local') }} as interval_key
from records
where interval_start_local is not null and interval_s > 0
window same_interval as (
  partition by record_type, smf_sid, {{ rmf_start() }}, class_kind, class_name
)
qualify row_number() over (same_interval order by written_local, file_id, record_seq) = 1
