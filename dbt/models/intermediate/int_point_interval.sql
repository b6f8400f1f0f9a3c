-- The intervals of each measured point with the LPARs of a system laid side by side: the first interval of each LPAR
-- forms the point's first, the second its second. Seconds pass once, transactions, engines and CPU add up.
-- An interval outside every measured run is a point of its own.
with intervals as (
  select
    interval_key, system_id, smf_sid, interval_s, interval_start_utc, interval_start_local,
    coalesce(point, interval_key) as point,
    coalesce(condition, '') as condition,
    point is not null as is_run
  from {{ ref('int_interval') }}
),

ordered as (
  select *, row_number() over (
    partition by system_id, point, condition, smf_sid order by interval_start_utc, interval_start_local
  ) as position
  from intervals
),

engines as (
  select
    interval_key,
    {% for engine_type in ['CP', 'zIIP'] -%}
    {% for column in ['online_s', 'busy_s', 'lpar_busy_s', 'mvs_available_s', 'mvs_busy_s'] -%}
    sum({{ column }}) filter (where engine_type = '{{ engine_type }}') as {{ engine_type | lower }}_{{ column }},
    {% endfor -%}
    max(thread_density) filter (where engine_type = '{{ engine_type }}') as {{ engine_type | lower }}_thread_density,
    {% endfor -%}
    sum(busy_s) as all_busy_s,
    sum(online_s) as all_online_s
  from {{ ref('int_engine_interval') }}
  group by interval_key
),

captured as (
  select interval_key, sum(cp_s) as captured_cp_s
  from {{ ref('int_class_interval') }}
  where class_kind = 'service_class'
  group by interval_key
)

select
  o.system_id,
  o.point,
  o.condition,
  o.is_run,
  o.position,
  min(o.interval_start_utc) as interval_start_utc,
  min(o.interval_start_local) as interval_start_local,
  max(o.interval_s) as seconds,
  count(distinct o.smf_sid) as lpars,
  sum(e.cp_online_s) as cp_online_s,
  sum(e.cp_busy_s) as cp_busy_s,
  sum(e.cp_lpar_busy_s) as cp_lpar_busy_s,
  sum(e.cp_mvs_available_s) as cp_mvs_available_s,
  sum(e.cp_mvs_busy_s) as cp_mvs_busy_s,
  sum(e.ziip_online_s) as ziip_online_s,
  sum(e.ziip_busy_s) as ziip_busy_s,
  sum(e.ziip_busy_s * coalesce(e.ziip_thread_density, 1)) as ziip_thread_busy_s,
  sum(e.all_online_s) as all_online_s,
  sum(e.all_busy_s) as all_busy_s,
  sum(c.captured_cp_s) as captured_cp_s,
  list(o.interval_key) as interval_keys
from ordered o
left join engines e using (interval_key)
left join captured c using (interval_key)
group by o.system_id, o.point, o.condition, o.is_run, o.position
