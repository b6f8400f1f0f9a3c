-- Service units, APPL%, response and goal of each period of each WLM class, by the arithmetic that RMF prints.
-- The distribution of response times is a map of upper limits in percent of the goal (entry 0) and counts per bucket. The
-- first bucket reaches from nothing to half the goal: where in it a percentile lies, the records do not say.
with period as (
  select
    n.system_id, n.smf_sid, n.point, n.condition, n.interval_start_utc, n.interval_start_local,
    p.wlm_workload as workload, m.software_service_units_per_s as service_units_per_s,
    p.* replace (nullif(p.execution_us, 0) as execution_us)
  from {{ ref('int_class_period') }} p
  join {{ ref('int_interval') }} n using (interval_key)
  left join {{ ref('int_cpc') }} m using (interval_key)
),

distribution as (
  select p.file_id, p.record_seq, p.section_seq, l.buckets as limits, d.buckets as counts,
    coalesce(nullif(p.response_midpoint_ms, 0), p.goal_ms) as midpoint_ms
  from period p
  join {{ source('staging', 'stg_smf72_3_response_distribution') }} l
    on l.file_id = p.file_id and l.record_seq = p.record_seq and l.section_seq = 0
  join {{ source('staging', 'stg_smf72_3_response_distribution') }} d
    on d.file_id = p.file_id and d.record_seq = p.record_seq and d.section_seq = p.response_distribution_index
  where p.response_distribution_index > 0
),

reading as (
  select file_id, record_seq, section_seq, limits[1] * midpoint_ms / 100 as first_limit_ms,
    {% for percent in [50, 90, 95] -%}
    {{ bucket_percentile('counts', 'limits', percent) }} * midpoint_ms / 100 as p{{ percent }}_ms{{ ',' if not loop.last }}
    {% endfor %}
  from distribution
),

percentile as (
  select file_id, record_seq, section_seq,
    {% for percent in [50, 90, 95] -%}
    case when p{{ percent }}_ms > first_limit_ms then p{{ percent }}_ms end as p{{ percent }}_ms{{ ',' if not loop.last }}
    {% endfor %}
  from reading
),

reached as (
  select p.*, q.p50_ms, q.p90_ms, q.p95_ms,
    {{ bucket_limit('d.counts', 'd.limits', 'p.goal_percentile_pct') }} * d.midpoint_ms / 100 as reached_percentile_ms
  from period p
  left join percentile q using (file_id, record_seq, section_seq)
  left join distribution d using (file_id, record_seq, section_seq)
)

{#- What stands for the columns of a metric's definition. #}
{%- set of_class = {'seconds': 'interval_s', 'ended': 'transactions_ended', 'service_units': 'total_service_units', 'ios': 'dasd_ios', 'measured_ios': 'dasd_ios',
    'io_us': 'dasd_connect_us + dasd_disconnect_us + dasd_wait_us + ios_queue_us',
    'cpu_service_units': 'case when total_service_units is not null then coalesce(cpu_service_units, 0) end',
    'srb_service_units': 'case when total_service_units is not null then coalesce(srb_service_units, 0) end'} %}
select
  {{ interval_identity() }},
  workload::varchar as workload,
  class_kind::varchar as class_kind,
  class_name::varchar as class_name,
  period_number::integer as period_number,
  importance::integer as importance,
  goal_kind::varchar as goal_kind,
  (case when goal_kind like '%response' then goal_ms end)::double as goal_ms,
  goal_percentile_pct::double as goal_percentile_pct,
  goal_velocity_pct::double as goal_velocity_pct,
  transactions_ended::double as transactions_ended,
  {{ metric('etr_tps', of_class) }} as ended_tps,
  executions_ended::double as executions_ended,
  {{ metric('mean_active', of_class) }} as mean_active,
  {{ metric('mean_idle', of_class) }} as mean_idle,
  {{ metric('mean_resident', of_class) }} as mean_resident,
  {{ metric('response_ms', of_class) }} as response_ms,
  {{ metric('execution_ms', of_class) }} as execution_ms,
  {{ metric('queued_ms', of_class) }} as queued_ms,
  p50_ms::double as response_p50_estimate_ms,
  p90_ms::double as response_p90_estimate_ms,
  p95_ms::double as response_p95_estimate_ms,
  velocity_pct::double as velocity_pct,
  {% for column in ['cp_using', 'cp_delay', 'ziip_using', 'ziip_delay', 'io_using', 'io_delay'] -%}
  ({{ column | replace('cp_', 'cpu_') }}_samples * {{ ratio('interval_s', 'state_samples') }})::double as {{ column }}_s,
  {% endfor -%}
  coalesce(performance_index, case goal_kind
    when 'average response' then {{ ratio(metric('response_ms', of_class), 'goal_ms') }}
    when 'percentile response' then {{ ratio('reached_percentile_ms', 'goal_ms') }}
    -- Work that no sample found using anything would have an infinite index: one sample of all is the least that is seen.
    when 'velocity' then {{ ratio('goal_velocity_pct', 'coalesce(nullif(velocity_pct, 0), 100.0 / (delay_samples + 1))') }}
    when 'discretionary' then 0.81 end)::double as performance_index,
  io_service_units::double as io_service_units,
  cpu_service_units::double as cpu_service_units,
  storage_service_units::double as storage_service_units,
  srb_service_units::double as srb_service_units,
  total_service_units::double as service_units,
  service_units::double as service_units_recorded,
  {{ metric('service_per_s', of_class) }} as service_per_s,
  {{ metric('absorption', of_class) }} as absorption_per_s,
  {{ metric('transaction_service', of_class) }} as transaction_service_per_s,
  {{ metric('cpu_srb_service_per_tran', of_class) }} as cpu_srb_service_units_per_tran,
  cp_s::double as cp_s,
  {{ metric('cpu_pct', of_class) }} as appl_cp_pct,
  {{ metric('ziip_pct', of_class) }} as appl_ziip_pct,
  {{ metric('ziip_on_cp_pct', of_class) }} as appl_ziip_on_cp_pct,
  {{ metric('transaction_cpu_pct', of_class) }} as transaction_appl_cp_pct,
  {{ metric('mobile_cpu_pct', of_class) }} as mobile_appl_cp_pct,
  {{ metric('msu', of_class) }} as cp_msu,
  {{ metric('msu', dict(of_class, cp_s='mobile_cp_s')) }} as mobile_msu,
  {{ metric('io_per_tran', of_class) }} as ios_per_tran,
  {{ metric('io_response_ms', of_class) }} as io_response_ms,
  source::varchar as source
from reached
