-- Service units, APPL%, response and goal of each period of each WLM class, by the arithmetic that RMF prints.
-- The distribution of response times is a map of upper limits in percent of the goal (entry 0) and counts per bucket.
with period as (
  select
    n.system_id, n.point, n.condition, r.interval_key, r.smf_sid, r.class_kind, r.class_name,
    n.interval_start_utc, n.interval_start_local, n.interval_s,
    nullif(trim(c.workload_name), '') as workload,
    nullif(trim(c.policy_name), '') as policy_name,
    coalesce(nullif(c.ziip_normalisation_factor, 0), 1) as ziip_normalisation_factor,
    coalesce(nullif(c.zaap_normalisation_factor, 0), 1) as zaap_normalisation_factor,
    16000000.0 / nullif(c.cpu_rate_adjustment, 0) as service_units_per_s_of_engine,
    p.*,
    {% for name, units, coefficient in [
        ('cpu', 'cpu_service_units', 'cpu_coefficient'), ('srb', 'srb_service_units', 'srb_coefficient'),
        ('ziip', 'ziip_service_units', 'cpu_coefficient'), ('zaap', 'zaap_service_units', 'cpu_coefficient'),
        ('ziip_on_cp', 'ziip_on_cp_service_units', 'cpu_coefficient'),
        ('transaction_cp', 'transaction_cp_service_units', 'cpu_coefficient'),
        ('mobile_cp', 'mobile_cp_service_units', 'cpu_coefficient')] -%}
    {{ service_seconds('p.' ~ units, 'c.' ~ coefficient, 'c.cpu_rate_adjustment') }} as {{ name }}_s,
    {% endfor -%}
    coalesce(nullif(p.elapsed_precise_us, 0), nullif(p.elapsed_us, 0)) as response_us,
    coalesce(nullif(p.execution_precise_us, 0), nullif(p.execution_us, 0)) as executed_us,
    coalesce(p.cpu_service_units, 0) + coalesce(p.io_service_units, 0) + coalesce(p.storage_service_units, 0)
      + coalesce(p.srb_service_units, 0) as total_service_units,
    p.goal_value * case when p.goal_in_milliseconds then 1 when p.goal_in_seconds then 1e3
      when p.goal_in_minutes then 6e4 when p.goal_in_hours then 3.6e6 end as response_goal_ms
  from {{ ref('int_record') }} r
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ ref('stg_smf72_3_control') }} c using (file_id, record_seq)
  join {{ ref('stg_smf72_3_period') }} p using (file_id, record_seq)
  where r.record_type = '72.3'
),

distribution as (
  select p.file_id, p.record_seq, p.section_seq, l.buckets as limits, d.buckets as counts,
    coalesce(nullif(p.response_midpoint_ms, 0), p.response_goal_ms) as midpoint_ms
  from period p
  join {{ ref('stg_smf72_3_response_distribution') }} l
    on l.file_id = p.file_id and l.record_seq = p.record_seq and l.section_seq = 0
  join {{ ref('stg_smf72_3_response_distribution') }} d
    on d.file_id = p.file_id and d.record_seq = p.record_seq and d.section_seq = p.response_distribution_index
  where p.response_distribution_index > 0
),

percentile as (
  select file_id, record_seq, section_seq,
    {% for percent in [50, 90, 95] -%}
    {{ bucket_percentile('counts', 'limits', percent) }} * midpoint_ms / 100 as p{{ percent }}_ms{{ ',' if not loop.last }}
    {% endfor %}
  from distribution
),

goal as (
  select p.*, q.p50_ms, q.p90_ms, q.p95_ms,
    case when p.has_percentile_goal then 'percentile response' when p.has_average_goal then 'average response'
      when p.has_velocity_goal then 'velocity' when p.is_discretionary then 'discretionary'
      when p.has_system_goal then 'system' end as goal_kind,
    100 * {{ ratio('p.using_samples', 'p.using_samples + p.delay_samples') }} as velocity_pct,
    {{ bucket_percentile('d.counts', 'd.limits', 'p.goal_percentile') }} * d.midpoint_ms / 100 as goal_percentile_ms
  from period p
  left join percentile q using (file_id, record_seq, section_seq)
  left join distribution d using (file_id, record_seq, section_seq)
),

cost as (
  select *,
    coalesce(cpu_s, 0) - coalesce(ziip_s, 0) * ziip_normalisation_factor
      - coalesce(zaap_s, 0) * zaap_normalisation_factor + coalesce(srb_s, 0)
      + (coalesce(region_control_us, 0) + coalesce(io_interrupt_us, 0) + coalesce(hiperspace_us, 0)) / 1e6 as cp_s,
    -- Transactions end, yet no service is recorded: it is accounted to another class or was not written. Unknown, not 0.
    coalesce(transactions_ended, 0) > 0 and cp_s = 0 and coalesce(ziip_s, 0) = 0 and total_service_units = 0
      as lacks_service,
    coalesce(transactions_ended, 0) > 0 and coalesce(transaction_cp_s, 0) = 0 as lacks_transaction_service
  from goal
),

known as (
  select * replace (
    {% for column in ['io_service_units', 'cpu_service_units', 'storage_service_units', 'srb_service_units',
        'total_service_units', 'cp_s', 'ziip_s', 'ziip_on_cp_s'] -%}
    case when not lacks_service then {{ column }} end as {{ column }},
    {% endfor -%}
    case when not lacks_transaction_service then transaction_cp_s end as transaction_cp_s,
    -- Mobile service is part of it: none is none where the whole is known.
    case when not lacks_transaction_service or mobile_cp_s > 0 then mobile_cp_s end as mobile_cp_s,
    -- Service needs time in storage: without any, that time was not recorded.
    {% for time in ['active_us', 'residency_us'] -%}
    case when {{ time }} > 0 or total_service_units = 0 then {{ time }} end as {{ time }}{{ ',' if not loop.last }}
    {% endfor -%}
  )
  from cost
)

{#- What stands for the columns of a metric's definition. #}
{%- set of_class = {'seconds': 'interval_s', 'ended': 'transactions_ended', 'elapsed_us': 'response_us',
    'execution_us': 'executed_us', 'service_units': 'total_service_units', 'ios': 'dasd_ios', 'measured_ios': 'dasd_ios',
    'io_us': 'dasd_connect_us + dasd_disconnect_us + dasd_wait_us + ios_queue_us',
    'cpu_service_units': 'case when not lacks_service then coalesce(cpu_service_units, 0) end',
    'srb_service_units': 'case when not lacks_service then coalesce(srb_service_units, 0) end',
    'service_units_per_s': 'service_units_per_s_of_engine'} %}
select
  interval_key::varchar as interval_key,
  system_id::varchar as system_id,
  smf_sid::varchar as smf_sid,
  point::varchar as point,
  condition::varchar as condition,
  interval_start_utc::timestamp as interval_start_utc,
  interval_start_local::timestamp as interval_start_local,
  interval_s::double as interval_s,
  workload::varchar as workload,
  class_kind::varchar as class_kind,
  class_name::varchar as class_name,
  coalesce(nullif(period_number, 0), section_seq + 1)::integer as period_number,
  importance::integer as importance,
  goal_kind::varchar as goal_kind,
  (case when goal_kind like '%response' then response_goal_ms end)::double as goal_ms,
  (case when goal_kind = 'percentile response' then goal_percentile end)::double as goal_percentile_pct,
  (case when goal_kind = 'velocity' then goal_value end)::double as goal_velocity_pct,
  transactions_ended::double as transactions_ended,
  {{ metric('etr_tps', of_class) }} as ended_tps,
  executions_ended::double as executions_ended,
  {{ metric('mean_active', of_class) }} as mean_active,
  {{ metric('mean_resident', of_class) }} as mean_resident,
  {{ metric('response_ms', of_class) }} as response_ms,
  {{ metric('execution_ms', of_class) }} as execution_ms,
  {{ metric('queued_ms', of_class) }} as queued_ms,
  p50_ms::double as response_p50_estimate_ms,
  p90_ms::double as response_p90_estimate_ms,
  p95_ms::double as response_p95_estimate_ms,
  velocity_pct::double as velocity_pct,
  (case goal_kind
    when 'average response' then {{ ratio(metric('response_ms', of_class), 'response_goal_ms') }}
    when 'percentile response' then {{ ratio('goal_percentile_ms', 'response_goal_ms') }}
    when 'velocity' then {{ ratio('goal_value', 'velocity_pct') }} end)::double as performance_index,
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
  {{ metric('io_response_ms', of_class) }} as io_response_ms
from known
