select
  interval_key::varchar as interval_key,
  system_id::varchar as system_id,
  smf_sid::varchar as smf_sid,
  sysplex_name::varchar as sysplex_name,
  cpc_serial::varchar as cpc_serial,
  point::varchar as point,
  condition::varchar as condition,
  interval_start_utc::timestamp as interval_start_utc,
  (interval_start_utc + to_microseconds((interval_s * 1000000)::bigint))::timestamp as interval_end_utc,
  interval_start_local::timestamp as interval_start_local,
  (interval_start_local + to_microseconds((interval_s * 1000000)::bigint))::timestamp as interval_end_local,
  interval_s::double as interval_s,
  ipl_utc::timestamp as ipl_utc,
  source::varchar as source,
  (copies > 1)::boolean as is_duplicated
from {{ ref('int_interval') }}
