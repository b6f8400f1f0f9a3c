-- Rate, busy time and ITR of each LPAR of a system that was measured on several; the subject is its SMF identifier.
with lpar as (
  select *, count(distinct smf_sid) over (partition by system_id, point, condition) as lpars
  from {{ ref('int_point_share') }}
  where is_run and interval_key is not null
),

measured as (
  select l.system_id, l.point, l.condition, l.smf_sid, l.position, w.workload,
    sum(l.share * l.interval_s) as seconds,
    sum(l.share * w.transactions_ended) as ended,
    sum(l.share * e.busy_s) as busy_s,
    sum(l.share * e.online_s) as online_s
  from lpar l
  left join {{ ref('int_engine_interval') }} e on e.interval_key = l.interval_key and e.engine_type = 'CP'
  left join {{ ref('int_workload_interval') }} w on w.interval_key = l.interval_key
  where l.lpars > 1
  group by all
),

engines as (
  select *,
    {{ ratio('sum(online_s) over lpar_of_point', 'sum(seconds) over lpar_of_point') }} as cp_engines
  from measured
  window lpar_of_point as (partition by system_id, point, condition, smf_sid, workload)
)

select system_id, point, condition, true as is_run, position, seconds, workload, smf_sid as subject,
  unnest({{ measures_of('lpar') }}, recursive := true)
from engines
