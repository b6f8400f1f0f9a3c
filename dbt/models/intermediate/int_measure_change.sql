-- Difference between a point and its baseline, which its condition names as `baseline=POINT`: rates and costs, in
-- percent of the baseline.
with measured as (
  select system_id, point, condition, workload, metric,
    regexp_extract(condition, '(?:^|; )baseline=([^;]+)', 1) as baseline,
    any_value(scale) * {{ ratio('sum(numerator)', 'sum(denominator)') }} as value
  from {{ ref('int_measure_activity') }}
  where metric in ('etr_tps', 'itr_tps', 'cpu_us_per_tran') and is_run
  group by all
)

select m.system_id, m.point, m.condition, true as is_run, 1 as position, null::double as seconds, m.workload, '' as subject,
  unnest({{ measures_of('baseline', 'm.metric') }}, recursive := true)
from measured m
join measured b
  on b.system_id = m.system_id and b.point = m.baseline and b.metric = m.metric
  and b.workload is not distinct from m.workload
where m.baseline <> ''
