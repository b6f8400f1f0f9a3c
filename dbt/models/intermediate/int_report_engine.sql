-- Engines as an RMF CPU activity report prints them, turned back into seconds. The report does not say whether an
-- engine is dedicated; its LPAR busy stands for busy, which is 1 - wait / online for a dedicated engine and dispatch
-- time / online for a shared one.
with engine as (
  select
    r.interval_key,
    p.engine_type,
    r.interval_s * p.online_pct / 100 as online_s,
    r.interval_s * p.online_pct / 100 * coalesce(p.parked_pct, 0) / 100 as parked_s,
    p.lpar_busy_pct,
    p.mvs_busy_pct
  from {{ ref('int_report') }} r
  join {{ ref('stg_rmf_cpu_processor') }} p using (file_id, record_seq)
  where r.report = 'CPU' and p.online_pct > 0 and p.engine_type is not null
)

select
  interval_key,
  engine_type,
  'report' as source,
  count(*) as engines,
  null::bigint as dedicated_engines,
  sum(online_s) as online_s,
  sum(online_s * lpar_busy_pct / 100) as busy_s,
  sum(online_s * lpar_busy_pct / 100) as lpar_busy_s,
  sum(online_s - parked_s) filter (where mvs_busy_pct is not null) as mvs_available_s,
  sum((online_s - parked_s) * mvs_busy_pct / 100) as mvs_busy_s,
  sum(parked_s) as parked_s
from engine
group by interval_key, engine_type
