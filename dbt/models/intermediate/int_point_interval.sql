-- The intervals of each measured point, all LPARs of the system taken together by the seconds they share with them:
-- seconds pass once, engines and CPU add up.
with engines as (
  select
    interval_key,
    {% for engine_type in ['CP', 'zIIP'] -%}
    {% for column in ['online_s', 'busy_s', 'lpar_busy_s', 'mvs_available_s', 'mvs_busy_s'] -%}
    sum({{ column }}) filter (where engine_type = '{{ engine_type }}') as {{ engine_type | lower }}_{{ column }},
    {% endfor -%}
    {% endfor -%}
    sum(busy_s * coalesce(thread_density, 1)) filter (where engine_type = 'zIIP') as ziip_thread_busy_s,
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
  s.system_id,
  s.point,
  s.condition,
  s.is_run,
  s.position,
  s.point_start_utc as interval_start_utc,
  s.point_start_local as interval_start_local,
  s.seconds,
  count(distinct s.smf_sid) as lpars,
  {% for column in ['cp_online_s', 'cp_busy_s', 'cp_lpar_busy_s', 'cp_mvs_available_s', 'cp_mvs_busy_s', 'ziip_online_s',
      'ziip_busy_s', 'ziip_thread_busy_s', 'all_online_s', 'all_busy_s', 'captured_cp_s'] -%}
  sum(s.share * {{ column }}) as {{ column }}{{ ',' if not loop.last }}
  {% endfor -%}
from {{ ref('int_point_share') }} s
left join engines e using (interval_key)
left join captured c using (interval_key)
where s.interval_key is not null
group by all
