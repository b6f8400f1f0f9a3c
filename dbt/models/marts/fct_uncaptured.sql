with captured as (
  select interval_key, sum(cp_s) as cp_s from {{ ref('int_class_interval') }} where class_kind = 'service_class' group by 1
)

select
  {{ interval_identity('n') }},
  date_trunc('hour', n.interval_start_local)::timestamp as hour_local,
  e.busy_s::double as busy_s,
  c.cp_s::double as captured_s,
  (e.busy_s - c.cp_s)::double as uncaptured_s,
  {{ metric('capture_ratio', {'captured_s': 'c.cp_s'}) }} as capture_ratio,
  (100 * {{ ratio('e.busy_s - c.cp_s', 'n.interval_s') }})::double as uncaptured_cpu_pct
from {{ ref('int_interval') }} n
join {{ ref('int_engine_interval') }} e on e.interval_key = n.interval_key and e.engine_type = 'CP'
join captured c on c.interval_key = n.interval_key
