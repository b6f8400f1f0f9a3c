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
  left join {{ ref('int_cpc') }} m using (interval_key)
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

said as (
  select system_id, point, condition, true as is_run, position, seconds, null::varchar as workload, subject,
    unnest({{ measures_of('wlm_class') }}, recursive := true)
  from together
  union all by name
  -- Standard deviation over all transactions of the point, from their number, sum and sum of squares.
  select system_id, point, condition, true as is_run, 1 as position, sum(seconds) as seconds, null::varchar as workload, subject,
    'wlm_response_deviation_ms' as metric, 'ms' as unit, 'point' as aggregation, 1e-3::double as scale,
    sqrt(greatest(sum(elapsed_squared_us2) - power(sum(elapsed_us), 2) / nullif(sum(transactions_ended), 0), 0)
      / nullif(sum(transactions_ended) - 1, 0)) as numerator, 1 as denominator
  from together
  group by system_id, point, condition, subject
)

-- Nothing per unit of what a point has nothing of is 0, as a report prints it; something per nothing is unknown.
select * replace (
  case when sum(denominator) over metric_of_point = 0 and sum(abs(numerator)) over metric_of_point = 0 then 1
    else denominator end as denominator)
from said
window metric_of_point as (partition by system_id, point, condition, subject, metric)
