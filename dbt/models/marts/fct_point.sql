{%- set group_cpu_pct = var('point_group_cpu_pct') -%}
{%- set group_us = var('point_group_cpu_us_per_tran') -%}
{%- set columns = ['etr_tps', 'cpu_busy_pct', 'itr_tps', 'cpu_us_per_tran', 'lpar_busy_pct', 'mvs_busy_pct',
    'ziip_busy_pct', 'total_busy_pct', 'capture_ratio', 'service_cpu_us_per_tran', 'ziip_us_per_tran',
    'ziip_service_us_per_tran', 'executed_tps', 'transaction_cpu_pct', 'mobile_cpu_pct'] -%}
{%- for group in group_us -%}{%- do columns.append(group ~ '_cpu_us_per_tran') -%}{%- endfor -%}
{%- for group in group_cpu_pct -%}{%- do columns.append(group ~ '_cpu_pct') -%}{%- endfor -%}
{%- for workload in var('point_workload_cpu_pct') -%}{%- do columns.append('total_' ~ workload ~ '_cpu_pct') -%}{%- endfor -%}
{%- for workload in var('point_workload_response_ms') -%}{%- do columns.append('total_' ~ workload ~ '_response_ms') -%}{%- endfor -%}
{%- for name in var('point_class_tps') -%}{%- do columns.append(name ~ '_tps') -%}{%- endfor -%}
with points as (
  select
    system_id, point, condition,
    bool_or(is_run) as is_run,
    count(*) as n_intervals,
    max(lpars) as lpars,
    sum(seconds) as seconds,
    min(interval_start_utc) as first_start_utc,
    min(interval_start_local) as first_start_local
  from {{ ref('int_point_interval') }}
  group by system_id, point, condition
),

workloads as (
  select distinct system_id, point, condition, workload
  from {{ ref('fct_point_metric') }}
  where workload is not null
),

rows as (
  select p.*, w.workload
  from points p
  left join workloads w using (system_id, point, condition)
),

metrics as (
  select * from {{ ref('fct_point_metric') }} where subject = ''
)

select
  r.system_id::varchar as system_id,
  r.point::varchar as point,
  r.condition::varchar as condition,
  r.workload::varchar as workload,
  r.is_run::boolean as is_run,
  r.n_intervals::integer as n_intervals,
  r.lpars::integer as lpars,
  r.seconds::double as seconds,
  r.first_start_utc::timestamp as first_start_utc,
  r.first_start_local::timestamp as first_start_local,
  max(m.value) filter (where m.metric = 'engines')::double as engines,
  max(m.value) filter (where m.metric = 'ziip_engines')::double as ziip_engines,
  {%- for column in columns %}
  max(m.value) filter (where m.metric = '{{ column }}')::double as {{ column }},
  max(m.value_se) filter (where m.metric = '{{ column }}')::double as {{ column }}_se{{ ',' if not loop.last }}
  {%- endfor %}
from rows r
left join metrics m
  on m.system_id = r.system_id and m.point = r.point and m.condition = r.condition
  and (m.workload is null or m.workload = r.workload)
group by all
