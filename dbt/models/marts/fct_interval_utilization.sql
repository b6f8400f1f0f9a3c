select
  {{ interval_identity('n') }},
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
