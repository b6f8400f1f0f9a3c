{#- What is known of a class only with its service. #}
{%- set service = ['total_service_units', 'io_service_units', 'cpu_service_units', 'storage_service_units',
    'srb_service_units', 'cpu_s', 'tcb_s', 'srb_s', 'region_control_s', 'io_interrupt_s', 'hiperspace_s', 'ziip_s', 'zaap_s',
    'ziip_on_cp_s', 'zaap_on_cp_s', 'cp_s'] -%}
-- One row per period of a WLM class and interval: what was recorded, and service units turned into seconds of CPU.
-- The CPU service of a class contains its zIIP and zAAP work at CP speed; that part is taken out of the CP seconds.
with recorded as (
  select
    r.interval_key, r.class_kind, r.class_name, r.interval_s, 'record' as source,
    coalesce(nullif(p.period_number, 0), p.section_seq + 1)::integer as period_number,
    nullif(trim(c.workload_name), '') as wlm_workload,
    nullif(trim(c.policy_name), '') as policy_name,
    c.state_sample_count as state_samples,
    coalesce(nullif(c.ziip_normalisation_factor, 0), 1) as ziip_normalisation_factor,
    coalesce(nullif(c.zaap_normalisation_factor, 0), 1) as zaap_normalisation_factor,
    coalesce(p.cpu_service_units, 0) + coalesce(p.io_service_units, 0) + coalesce(p.storage_service_units, 0)
      + coalesce(p.srb_service_units, 0) as total_service_units,
    {% for name, units, coefficient in [
        ('cpu', 'cpu_service_units', 'cpu_coefficient'), ('srb', 'srb_service_units', 'srb_coefficient'),
        ('ziip', 'ziip_service_units', 'cpu_coefficient'), ('zaap', 'zaap_service_units', 'cpu_coefficient'),
        ('ziip_on_cp', 'ziip_on_cp_service_units', 'cpu_coefficient'),
        ('zaap_on_cp', 'zaap_on_cp_service_units', 'cpu_coefficient'),
        ('transaction_cp', 'transaction_cp_service_units', 'cpu_coefficient'),
        ('mobile_cp', 'mobile_cp_service_units', 'cpu_coefficient')] -%}
    {{ service_seconds('p.' ~ units, 'c.' ~ coefficient, 'c.cpu_rate_adjustment') }} as {{ name }}_s,
    {% endfor -%}
    case when p.has_percentile_goal then 'percentile response' when p.has_average_goal then 'average response'
      when p.has_velocity_goal then 'velocity' when p.is_discretionary then 'discretionary'
      when p.has_system_goal then 'system' end as goal_kind,
    p.goal_value * case when p.goal_in_milliseconds then 1 when p.goal_in_seconds then 1e3
      when p.goal_in_minutes then 6e4 when p.goal_in_hours then 3.6e6 end as goal_ms,
    case when goal_kind = 'percentile response' then p.goal_percentile end as goal_percentile_pct,
    case when goal_kind = 'velocity' then p.goal_value end as goal_velocity_pct,
    100 * {{ ratio('p.using_samples', 'p.using_samples + p.delay_samples') }} as velocity_pct,
    nullif(p.delay_samples, 0) as delay_samples,
    p.region_control_us / 1e6 as region_control_s,
    p.io_interrupt_us / 1e6 as io_interrupt_s,
    p.hiperspace_us / 1e6 as hiperspace_s,
    coalesce(nullif(p.elapsed_precise_us, 0), p.elapsed_us) as elapsed_us,
    coalesce(nullif(p.execution_precise_us, 0), p.execution_us) as execution_us,
    coalesce(nullif(p.elapsed_squared_precise_us2, 0), p.elapsed_squared_us2) as elapsed_squared_us2,
    {% for column in ['file_id', 'record_seq', 'section_seq', 'importance', 'response_distribution_index',
        'response_midpoint_ms', 'service_units', 'io_service_units', 'cpu_service_units', 'storage_service_units',
        'srb_service_units', 'transactions_ended', 'transactions_ended_abnormally', 'executions_ended', 'swaps', 'queue_us',
        'ineligible_us', 'conversion_us', 'job_queue_us', 'idle_samples', 'cpu_using_samples', 'cpu_delay_samples',
        'ziip_using_samples', 'ziip_delay_samples', 'io_using_samples', 'io_delay_samples', 'active_us', 'residency_us',
        'independent_enclave_active_us', 'exported_enclave_active_us', 'foreign_enclave_active_us', 'dasd_ios',
        'dasd_connect_us', 'dasd_disconnect_us', 'dasd_wait_us', 'ios_queue_us', 'page_residency_us',
        'expanded_page_residency_us', 'shared_page_residency_us', 'page_ins', 'block_page_ins', 'shared_page_ins',
        'hiperspace_page_ins', 'hiperspace_read_misses', 'expanded_page_ins', 'expanded_block_page_ins',
        'shared_expanded_page_ins'] -%}
    p.{{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from {{ ref('int_record') }} r
  join {{ source('staging', 'stg_smf72_3_control') }} c using (file_id, record_seq)
  join {{ source('staging', 'stg_smf72_3_period') }} p using (file_id, record_seq)
  where r.record_type = '72.3'
),

periods as (
  select * from recorded
  union all by name
  select * from {{ ref('int_report_class') }} p
  where not exists (from recorded r where r.interval_key = p.interval_key)
),

cpu as (
  select *,
    cpu_s - coalesce(ziip_s, 0) * ziip_normalisation_factor - coalesce(zaap_s, 0) * zaap_normalisation_factor as tcb_s,
    case when coalesce(tcb_s, srb_s, region_control_s, io_interrupt_s, hiperspace_s) is not null then
      coalesce(tcb_s, 0) + coalesce(srb_s, 0) + coalesce(region_control_s, 0) + coalesce(io_interrupt_s, 0)
        + coalesce(hiperspace_s, 0) end as cp_s
  from periods
),

-- Judged of all periods of a class in an interval together.
judged as (
  select *,
    sum(transactions_ended) over class_interval > 0 as has_transactions,
    coalesce(sum(total_service_units) over class_interval, 0) > 0 as has_service,
    -- Transactions end, yet no service is recorded: it is accounted to another class or was not written. Unknown, not 0.
    coalesce(has_transactions, false) and not has_service and coalesce(sum(cp_s) over class_interval, 0) = 0
      and coalesce(sum(ziip_s) over class_interval, 0) = 0 as lacks_service,
    coalesce(has_transactions, false) and coalesce(sum(transaction_cp_s) over class_interval, 0) = 0
      as lacks_transaction_service,
    coalesce(has_transactions, false) and coalesce(sum(elapsed_us) over class_interval, 0) = 0 as lacks_response,
    -- Service needs time in storage: without any, that time was not recorded.
    has_service and coalesce(sum(active_us) over class_interval, 0) = 0 as lacks_active,
    has_service and coalesce(sum(residency_us) over class_interval, 0) = 0 as lacks_residency
  from cpu
  window class_interval as (partition by interval_key, class_kind, class_name)
)

select * exclude (has_transactions, has_service, lacks_service, lacks_transaction_service, lacks_response, lacks_active,
    lacks_residency)
  replace (
    {% for column in service -%}
    case when not lacks_service then {{ column }} end as {{ column }},
    {% endfor -%}
    case when not lacks_transaction_service then transaction_cp_s end as transaction_cp_s,
    -- Mobile service is part of it: none is none where the whole is known.
    case when not lacks_transaction_service or mobile_cp_s > 0 then mobile_cp_s end as mobile_cp_s,
    case when not lacks_response then elapsed_us end as elapsed_us,
    case when not lacks_active then active_us end as active_us,
    case when not lacks_residency then residency_us end as residency_us)
from judged
