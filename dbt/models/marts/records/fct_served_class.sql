-- How often samples found address spaces of a class, such as CICS regions, serving transactions of another class.
select
  n.interval_key::varchar as interval_key,
  n.system_id::varchar as system_id,
  n.smf_sid::varchar as smf_sid,
  n.interval_start_utc::timestamp as interval_start_utc,
  n.interval_start_local::timestamp as interval_start_local,
  n.interval_s::double as interval_s,
  r.class_name::varchar as class_name,
  trim(s.served_class_name)::varchar as served_class_name,
  sum(s.times_served)::double as times_served
from {{ ref('int_record') }} r
join {{ ref('int_interval') }} n using (interval_key)
join {{ source('staging', 'stg_smf72_3_served_class') }} s using (file_id, record_seq)
where r.record_type = '72.3' and r.class_kind = 'service_class' and s.times_served > 0
group by all
