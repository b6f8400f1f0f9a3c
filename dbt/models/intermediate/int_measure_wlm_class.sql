{#- What is known of a class only with its service. #}
{%- set service = ['io_service_units', 'cpu_service_units', 'storage_service_units', 'srb_service_units', 'service_units',
    'region_control_us', 'io_interrupt_us', 'hiperspace_us', 'cpu_s', 'srb_s', 'cp_s', 'ziip_s', 'zaap_s', 'ziip_on_cp_s',
    'zaap_on_cp_s'] -%}
{#- Metrics of a class that are defined for every transaction, interval or service, by the name they have here. #}
{%- set of_class = {
    'wlm_average_active': 'mean_active',
    'wlm_mpl': 'mean_resident',
    'wlm_ended_per_s': 'etr_tps',
    'wlm_executed_per_s': 'executed_tps',
    'wlm_response_ms': 'response_ms',
    'wlm_execution_ms': 'execution_ms',
    'wlm_queued_ms': 'queued_ms',
    'wlm_ssch_per_s': 'io_per_s',
    'wlm_io_response_ms': 'io_response_ms',
    'wlm_service_per_s': 'service_per_s',
    'wlm_absorption': 'absorption',
    'wlm_service_per_active_s': 'transaction_service',
    'wlm_cpu_srb_service_per_tran': 'cpu_srb_service_per_tran',
    'wlm_cp_appl_pct': 'cpu_pct',
    'wlm_ziip_on_cp_appl_pct': 'ziip_on_cp_pct',
    'wlm_ziip_appl_pct': 'ziip_pct',
    'wlm_transaction_cp_appl_pct': 'transaction_cpu_pct',
    'wlm_mobile_cp_appl_pct': 'mobile_cpu_pct',
    'wlm_io_per_tran': 'io_per_tran',
    'wlm_mobile_cp_us_per_tran': 'mobile_cpu_us_per_tran',
    'wlm_mobile_msu': 'msu'} -%}
{%- set class_columns = {'ended': 'transactions_ended', 'executed': 'executions_ended', 'elapsed_us': 'response_us',
    'execution_us': 'executed_us', 'ios': 'dasd_ios',
    'measured_ios': 'dasd_ios', 'transaction_cp_s': 'transaction_s', 'mobile_cp_s': 'mobile_s',
    'io_us': 'dasd_connect_us + dasd_disconnect_us + dasd_wait_us + ios_queue_us'} -%}
{%- set own = {'msu': {'cp_s': 'mobile_capacity', 'service_units_per_s': '1'}} -%}
-- What an RMF workload activity report says of a WLM class: transactions, response, service, storage, APPL%.
-- The subject is `service_class NAME`, `report_class NAME`, `workload NAME` or `policy NAME`; RMF adds workloads and the
-- policy up from service classes, as is done here. LPARs are taken together.
with period as (
  select
    h.system_id, h.point, h.condition, h.position, h.seconds, h.share, r.class_kind, r.class_name,
    trim(c.workload_name) as workload_name,
    trim(c.policy_name) as policy_name,
    p.*,
    -- TOT of a report is the sum of its components; the total RMF records beside them is not used.
    coalesce(p.io_service_units, 0) + coalesce(p.cpu_service_units, 0) + coalesce(p.storage_service_units, 0)
      + coalesce(p.srb_service_units, 0) as total_service_units,
    16000000.0 / nullif(c.cpu_rate_adjustment, 0) as service_units_per_s,
    coalesce(nullif(p.elapsed_precise_us, 0), p.elapsed_us) as response_us,
    coalesce(nullif(p.elapsed_squared_precise_us2, 0), p.elapsed_squared_us2) as response_us2,
    coalesce(nullif(p.execution_precise_us, 0), p.execution_us) as executed_us,
    {% for name, units, coefficient in [
        ('cpu', 'cpu_service_units', 'cpu_coefficient'), ('srb', 'srb_service_units', 'srb_coefficient'),
        ('ziip', 'ziip_service_units', 'cpu_coefficient'), ('zaap', 'zaap_service_units', 'cpu_coefficient'),
        ('ziip_on_cp', 'ziip_on_cp_service_units', 'cpu_coefficient'),
        ('zaap_on_cp', 'zaap_on_cp_service_units', 'cpu_coefficient'),
        ('transaction', 'transaction_cp_service_units', 'cpu_coefficient'),
        ('mobile', 'mobile_cp_service_units', 'cpu_coefficient')] -%}
    coalesce({{ service_seconds('p.' ~ units, 'c.' ~ coefficient, 'c.cpu_rate_adjustment') }}, 0) as {{ name }}_s,
    {% endfor -%}
    coalesce(nullif(c.ziip_normalisation_factor, 0), 1) as ziip_factor,
    coalesce(nullif(c.zaap_normalisation_factor, 0), 1) as zaap_factor
  from {{ ref('int_point_share') }} h
  join {{ ref('int_record') }} r using (interval_key)
  join {{ ref('stg_smf72_3_control') }} c using (file_id, record_seq)
  join {{ ref('stg_smf72_3_period') }} p using (file_id, record_seq)
  where h.is_run and r.record_type = '72.3'
),

subject as (
  select *, class_kind || ' ' || class_name as subject from period
  union all by name
  select *, 'workload ' || workload_name as subject from period
  where class_kind = 'service_class' and workload_name <> ''
  union all by name
  select *, 'policy ' || policy_name as subject from period
  where class_kind = 'service_class' and policy_name <> ''
),

together as (
  select system_id, point, condition, subject, position, seconds,
    {% for column in ['transactions_ended', 'executions_ended', 'swaps', 'response_us', 'response_us2', 'executed_us',
        'queue_us', 'ineligible_us', 'conversion_us', 'job_queue_us', 'active_us', 'residency_us',
        'independent_enclave_active_us', 'exported_enclave_active_us', 'foreign_enclave_active_us', 'dasd_ios',
        'dasd_connect_us', 'dasd_disconnect_us', 'dasd_wait_us', 'ios_queue_us', 'io_service_units',
        'cpu_service_units', 'storage_service_units', 'srb_service_units', 'region_control_us', 'io_interrupt_us',
        'hiperspace_us', 'cpu_s', 'srb_s', 'ziip_s', 'zaap_s', 'ziip_on_cp_s', 'zaap_on_cp_s', 'transaction_s',
        'mobile_s', 'page_residency_us', 'expanded_page_residency_us', 'shared_page_residency_us', 'page_ins',
        'block_page_ins', 'shared_page_ins', 'hiperspace_page_ins', 'hiperspace_read_misses', 'expanded_page_ins',
        'expanded_block_page_ins', 'shared_expanded_page_ins'] -%}
    sum(share * {{ column }})::double as {{ column }},
    {% endfor -%}
    sum(share * total_service_units)::double as service_units,
    sum(share * mobile_s * service_units_per_s)::double as mobile_capacity,
    sum(share * (cpu_s - ziip_s * ziip_factor - zaap_s * zaap_factor + srb_s
      + (region_control_us + io_interrupt_us + hiperspace_us) / 1e6)) as cp_s
  from subject
  group by system_id, point, condition, subject, position, seconds
),

spread as (
  select *,
    sum(transactions_ended) over class_of_point as n,
    sum(response_us) over class_of_point as all_response_us,
    sum(response_us2) over class_of_point as all_response_us2,
    -- Transactions end, yet no service is recorded: it is accounted to another class or was not written. Unknown, not 0.
    sum(transactions_ended) over class_of_point > 0 and sum(service_units) over class_of_point = 0
      and coalesce(sum(cp_s) over class_of_point, 0) = 0 as lacks_service,
    sum(transactions_ended) over class_of_point > 0 and sum(transaction_s) over class_of_point = 0
      as lacks_transaction_service,
    sum(transactions_ended) over class_of_point > 0 and sum(response_us) over class_of_point = 0 as lacks_response,
    -- Service needs time in storage: without any, that time was not recorded.
    {% for time in ['active', 'residency'] -%}
    sum(service_units) over class_of_point > 0 and sum({{ time }}_us) over class_of_point = 0 as lacks_{{ time }},
    {% endfor -%}
    row_number() over (partition by system_id, point, condition, subject order by position) as ordinal
  from together
  window class_of_point as (partition by system_id, point, condition, subject)
),

known as (
  select * replace (
    {% for column in service -%}
    case when lacks_service is not true then {{ column }} end as {{ column }},
    {% endfor -%}
    case when lacks_transaction_service is not true then transaction_s end as transaction_s,
    -- Mobile service is part of it: none is none where the whole is known.
    {% for column in ['mobile_s', 'mobile_capacity'] -%}
    case when lacks_transaction_service is not true or {{ column }} > 0 then {{ column }} end as {{ column }},
    {% endfor -%}
    case when lacks_response is not true then response_us end as response_us,
    case when lacks_active is not true then active_us end as active_us,
    case when lacks_residency is not true then residency_us end as residency_us)
  from spread
),

said as (
  select system_id, point, condition, true as is_run, position, seconds, null::varchar as workload, subject,
    unnest([
      {% for called, metric in of_class.items() -%}
      {{ measure(metric, dict(class_columns, **own.get(metric, {})), "'" ~ called ~ "'", 'ratio') }},
      {% endfor -%}
      {% for metric, unit, scale, numerator, denominator in [
          ('wlm_independent_enclaves', 'average', 1e-6, 'independent_enclave_active_us', 'seconds'),
          ('wlm_remote_enclaves', 'average', 1e-6, 'foreign_enclave_active_us', 'seconds'),
          ('wlm_exported_enclaves', 'average', 1e-6, 'exported_enclave_active_us', 'seconds'),
          ('wlm_resource_affinity_ms', 'ms', 1e-3, 'ineligible_us', 'transactions_ended'),
          ('wlm_ineligible_ms', 'ms', 1e-3, 'job_queue_us', 'transactions_ended'),
          ('wlm_conversion_ms', 'ms', 1e-3, 'conversion_us', 'transactions_ended'),
          ('wlm_io_connect_ms', 'ms', 1e-3, 'dasd_connect_us', 'dasd_ios'),
          ('wlm_io_disconnect_ms', 'ms', 1e-3, 'dasd_disconnect_us', 'dasd_ios'),
          ('wlm_io_pending_ms', 'ms', 1e-3, 'dasd_wait_us', 'dasd_ios'),
          ('wlm_io_queue_ms', 'ms', 1e-3, 'ios_queue_us', 'dasd_ios'),
          ('wlm_cpu_service_per_s', 'SU/s', 1.0, 'cpu_service_units', 'seconds'),
          ('wlm_srb_service_per_s', 'SU/s', 1.0, 'srb_service_units', 'seconds'),
          ('wlm_cpu_srb_service_per_s', 'SU/s', 1.0, 'cpu_service_units + srb_service_units', 'seconds'),
          ('wlm_zaap_on_cp_appl_pct', 'pct of one CP', 100.0, 'zaap_on_cp_s', 'seconds'),
          ('wlm_zaap_appl_pct', 'pct of one zAAP', 100.0, 'zaap_s', 'seconds'),
          ('wlm_frames_per_space', 'frames', 1.0, 'page_residency_us + expanded_page_residency_us', 'residency_us'),
          ('wlm_frames', 'frames', 1e-6, 'page_residency_us + expanded_page_residency_us', 'seconds'),
          ('wlm_central_frames', 'frames', 1e-6, 'page_residency_us', 'seconds'),
          ('wlm_expanded_frames', 'frames', 1e-6, 'expanded_page_residency_us', 'seconds'),
          ('wlm_shared_frames', 'frames', 1e-6, 'shared_page_residency_us', 'seconds'),
          ('wlm_page_in_single_per_s', 'pages/s', 1e6, 'page_ins', 'residency_us'),
          ('wlm_page_in_block_per_s', 'pages/s', 1e6, 'block_page_ins', 'residency_us'),
          ('wlm_page_in_shared_per_s', 'pages/s', 1e6, 'shared_page_ins', 'residency_us'),
          ('wlm_page_in_hiperspace_per_s', 'pages/s', 1e6, 'hiperspace_page_ins', 'residency_us'),
          ('wlm_hiperspace_miss_per_s', 'pages/s', 1e6, 'hiperspace_read_misses', 'residency_us'),
          ('wlm_page_in_expanded_single_per_s', 'pages/s', 1e6, 'expanded_page_ins', 'residency_us'),
          ('wlm_page_in_expanded_block_per_s', 'pages/s', 1e6, 'expanded_block_page_ins', 'residency_us'),
          ('wlm_page_in_expanded_shared_per_s', 'pages/s', 1e6, 'shared_expanded_page_ins', 'residency_us')] -%}
      {'metric': '{{ metric }}', 'unit': '{{ unit }}', 'aggregation': 'ratio', 'scale': {{ scale }}::double,
        'numerator': {{ numerator }}, 'denominator': {{ denominator }}},
      {% endfor -%}
      {% for metric, unit, total in [
          ('wlm_ended', 'count', 'transactions_ended'),
          ('wlm_executed', 'count', 'executions_ended'),
          ('wlm_swaps', 'count', 'swaps'),
          ('wlm_service_units', 'SU', 'service_units'),
          ('wlm_io_service_units', 'SU', 'io_service_units'),
          ('wlm_cpu_service_units', 'SU', 'cpu_service_units'),
          ('wlm_storage_service_units', 'SU', 'storage_service_units'),
          ('wlm_srb_service_units', 'SU', 'srb_service_units'),
          ('wlm_cpu_s', 's', 'cpu_s'),
          ('wlm_srb_s', 's', 'srb_s'),
          ('wlm_region_control_s', 's', 'region_control_us / 1e6'),
          ('wlm_io_interrupt_s', 's', 'io_interrupt_us / 1e6'),
          ('wlm_hiperspace_s', 's', 'hiperspace_us / 1e6'),
          ('wlm_zaap_s', 's', 'zaap_s'),
          ('wlm_ziip_s', 's', 'ziip_s')] -%}
      {'metric': '{{ metric }}', 'unit': '{{ unit }}', 'aggregation': 'sum', 'scale': 1.0::double,
        'numerator': {{ total }}, 'denominator': 1},
      {% endfor -%}
      -- Standard deviation over all transactions of the point, from their number, sum and sum of squares.
      {'metric': 'wlm_response_deviation_ms', 'unit': 'ms', 'aggregation': 'point', 'scale': 1e-3::double,
        'numerator': case when ordinal = 1 and lacks_response is not true then
          sqrt(greatest(all_response_us2 - all_response_us * all_response_us / nullif(n, 0), 0) / nullif(n - 1, 0)) end,
        'denominator': 1}
    ], recursive := true)
  from known
)

-- Nothing per unit of what a point has nothing of is 0, as a report prints it; something per nothing is unknown.
select * replace (
  case when sum(denominator) over metric_of_point = 0 and sum(abs(numerator)) over metric_of_point = 0 then 1
    else denominator end as denominator)
from said
window metric_of_point as (partition by system_id, point, condition, subject, metric)
