with service as (
  select interval_key, sum(ziip_s) as ziip_s, sum(ziip_at_cp_speed_s) as ziip_at_cp_speed_s, sum(ziip_on_cp_s) as ziip_on_cp_s
  from {{ ref('int_class_interval') }}
  where class_kind = 'service_class'
  group by interval_key
)

select
  {{ interval_identity('n') }},
  coalesce(e.engines, 0)::integer as ziips,
  {{ metric('cpu_busy_pct') }} as ziip_busy_pct,
  e.thread_density::double as thread_density,
  (e.busy_s * coalesce(e.thread_density, 1))::double as thread_busy_s,
  s.ziip_s::double as ziip_service_s,
  s.ziip_at_cp_speed_s::double as ziip_service_at_cp_speed_s,
  s.ziip_on_cp_s::double as ziip_on_cp_s,
  {{ metric('ziip_on_cp_pct', {'seconds': 'n.interval_s'}) }} as ziip_on_cp_pct,
  (100 * {{ ratio('s.ziip_on_cp_s', 's.ziip_at_cp_speed_s + s.ziip_on_cp_s') }})::double as eligible_on_cp_share_pct
from {{ ref('int_interval') }} n
left join {{ ref('int_engine_interval') }} e on e.interval_key = n.interval_key and e.engine_type = 'zIIP'
left join service s on s.interval_key = n.interval_key
where e.interval_key is not null or s.ziip_s + s.ziip_on_cp_s > 0
