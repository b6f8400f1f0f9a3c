-- Measured points, each once, even if its file was loaded several times.
select distinct
  trim(system_id) as system_id,
  trim(smf_sid) as smf_sid,
  trim(point) as point,
  coalesce(trim(condition), '') as condition,
  start_utc,
  end_utc
from {{ ref('stg_etalon_run') }}
where start_utc < end_utc
