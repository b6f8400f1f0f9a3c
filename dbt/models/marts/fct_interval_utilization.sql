select
  n.interval_key::varchar as interval_key,
  n.system_id::varchar as system_id,
  n.smf_sid::varchar as smf_sid,
  n.point::varchar as point,
  n.condition::varchar as condition,
  n.interval_start_utc::timestamp as interval_start_utc,
  n.interval_start_local::timestamp as interval_start_local,
  n.interval_s::double as interval_s,
  e.engine_type::varchar as engine_type,
  e.engines::integer as engines,
  e.dedicated_engines::integer as dedicated_engines,
  e.online_s::double as online_s,
  e.busy_s::double as busy_s,
  {{ metric('cpu_busy_pct') }} as cpu_busy_pct,
  {{ metric('lpar_busy_pct') }} as lpar_busy_pct,
  {{ metric('mvs_busy_pct') }} as mvs_busy_pct,
  (100 * {{ ratio('e.parked_s', 'e.online_s') }})::double as parked_pct,
  e.thread_density::double as thread_density,
  e.source::varchar as source
from {{ ref('int_engine_interval') }} e
join {{ ref('int_interval') }} n using (interval_key)
