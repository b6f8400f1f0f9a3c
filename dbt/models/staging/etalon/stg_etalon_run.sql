select
  file_id,
  system_id::varchar as system_id,
  smf_sid::varchar as smf_sid,
  point::varchar as point,
  condition::varchar as condition,
  start_utc::timestamp as start_utc,
  end_utc::timestamp as end_utc
from {{ source('etalon', 'etalon_run') }}
