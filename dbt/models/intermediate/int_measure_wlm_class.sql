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
{%- set class_columns = {'ended': 'transactions_ended', 'executed': 'executions_ended',
    'service_units': 'total_service_units', 'ios': 'dasd_ios', 'measured_ios': 'dasd_ios',
    'io_us': 'dasd_connect_us + dasd_disconnect_us + dasd_wait_us + ios_queue_us'} -%}
{%- set own = {'msu': {'cp_s': 'mobile_capacity', 'service_units_per_s': '1'}} -%}
-- What an RMF workload activity report says of a WLM class: transactions, response, service, storage, APPL%.
-- The subject is `service_class NAME`, `report_class NAME`, `workload NAME` or `policy NAME`; RMF adds workloads and the
-- policy up from service classes, as is done here. LPARs are taken together.
with period as (
  select
    h.system_id, h.point, h.condition, h.position, h.seconds, h.share,
    m.software_service_units_per_s * p.mobile_cp_s as mobile_capacity,
    p.*
  from {{ ref('int_point_share') }} h
  join {{ ref('int_class_period') }} p using (interval_key)
  left join {{ ref('int_machine') }} m using (interval_key)
  where h.is_run and p.source = 'record'
),

subject as (
  select *, class_kind || ' ' || class_name as subject from period
  union all by name
  select *, 'workload ' || wlm_workload as subject from period
  where class_kind = 'service_class' and wlm_workload is not null
  union all by name
  select *, 'policy ' || policy_name as subject from period
  where class_kind = 'service_class' and policy_name is not null
),

together as (
  select system_id, point, condition, subject, position, seconds,
    {% for column in ['transactions_ended', 'executions_ended', 'swaps', 'elapsed_us', 'elapsed_squared_us2', 'execution_us',
        'queue_us', 'ineligible_us', 'conversion_us', 'job_queue_us', 'active_us', 'residency_us',
        'independent_enclave_active_us', 'exported_enclave_active_us', 'foreign_enclave_active_us', 'dasd_ios',
        'dasd_connect_us', 'dasd_disconnect_us', 'dasd_wait_us', 'ios_queue_us', 'io_service_units',
        'cpu_service_units', 'storage_service_units', 'srb_service_units', 'total_service_units', 'region_control_s',
        'io_interrupt_s', 'hiperspace_s', 'cpu_s', 'srb_s', 'cp_s', 'ziip_s', 'zaap_s', 'ziip_on_cp_s', 'zaap_on_cp_s',
        'transaction_cp_s', 'mobile_cp_s', 'mobile_capacity', 'page_residency_us', 'expanded_page_residency_us',
        'shared_page_residency_us', 'page_ins', 'block_page_ins', 'shared_page_ins', 'hiperspace_page_ins',
        'hiperspace_read_misses', 'expanded_page_ins', 'expanded_block_page_ins', 'shared_expanded_page_ins'] -%}
    sum(share * {{ column }})::double as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from subject
  group by system_id, point, condition, subject, position, seconds
),

spread as (
  select *,
    sum(transactions_ended) over class_of_point as n,
    sum(elapsed_us) over class_of_point as all_elapsed_us,
    sum(elapsed_squared_us2) over class_of_point as all_elapsed_us2,
    row_number() over (partition by system_id, point, condition, subject order by position) as ordinal
  from together
  window class_of_point as (partition by system_id, point, condition, subject)
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
          ('wlm_service_units', 'SU', 'total_service_units'),
          ('wlm_io_service_units', 'SU', 'io_service_units'),
          ('wlm_cpu_service_units', 'SU', 'cpu_service_units'),
          ('wlm_storage_service_units', 'SU', 'storage_service_units'),
          ('wlm_srb_service_units', 'SU', 'srb_service_units'),
          ('wlm_cpu_s', 's', 'cpu_s'),
          ('wlm_srb_s', 's', 'srb_s'),
          ('wlm_region_control_s', 's', 'region_control_s'),
          ('wlm_io_interrupt_s', 's', 'io_interrupt_s'),
          ('wlm_hiperspace_s', 's', 'hiperspace_s'),
          ('wlm_zaap_s', 's', 'zaap_s'),
          ('wlm_ziip_s', 's', 'ziip_s')] -%}
      {'metric': '{{ metric }}', 'unit': '{{ unit }}', 'aggregation': 'sum', 'scale': 1.0::double,
        'numerator': {{ total }}, 'denominator': 1},
      {% endfor -%}
      -- Standard deviation over all transactions of the point, from their number, sum and sum of squares.
      {'metric': 'wlm_response_deviation_ms', 'unit': 'ms', 'aggregation': 'point', 'scale': 1e-3::double,
        'numerator': case when ordinal = 1 then
          sqrt(greatest(all_elapsed_us2 - all_elapsed_us * all_elapsed_us / nullif(n, 0), 0) / nullif(n - 1, 0)) end,
        'denominator': 1}
    ], recursive := true)
  from spread
)

-- Nothing per unit of what a point has nothing of is 0, as a report prints it; something per nothing is unknown.
select * replace (
  case when sum(denominator) over metric_of_point = 0 and sum(abs(numerator)) over metric_of_point = 0 then 1
    else denominator end as denominator)
from said
window metric_of_point as (partition by system_id, point, condition, subject, metric)
