{%- set fields = [
    ('transactions_ended', 'count', 'transactions_ended', 'transactions_ended', 0.5),
    ('transactions_ended_per_s', 'tran/s', 'ended_tps', 'transactions_ended_per_s', 0.005),
    ('transactions_executed', 'count', 'executions_ended', 'transactions_executed', 0.5),
    ('transactions_avg', 'average', 'mean_active', 'transactions_avg', 0.005),
    ('transactions_mpl', 'average', 'mean_resident', 'transactions_mpl', 0.005),
    ('response_actual_ms', 'ms', 'response_ms', 'response_actual_us / 1e3', 0.0005),
    ('response_execution_ms', 'ms', 'execution_ms', 'response_execution_us / 1e3', 0.0005),
    ('io_service_units', 'SU', 'io_service_units', 'io_service_units', 0.5),
    ('cpu_service_units', 'SU', 'cpu_service_units', 'cpu_service_units', 0.5),
    ('storage_service_units', 'SU', 'storage_service_units', 'storage_service_units', 0.5),
    ('srb_service_units', 'SU', 'srb_service_units', 'srb_service_units', 0.5),
    ('service_units', 'SU', 'service_units', 'service_units', 0.5),
    ('service_per_s', 'SU/s', 'service_per_s', 'service_per_s', 0.5),
    ('absorption_per_s', 'SU/s', 'absorption_per_s', 'absorption_per_s', 0.5),
    ('transaction_service_per_s', 'SU/s', 'transaction_service_per_s', 'transaction_service_per_s', 0.5),
    ('appl_cp_pct', 'pct of one CP', 'appl_cp_pct', 'appl_cp_pct', 0.005),
    ('appl_ziip_pct', 'pct of one zIIP', 'appl_ziip_pct', 'appl_ziip_pct', 0.005),
    ('appl_ziip_on_cp_pct', 'pct of one CP', 'appl_ziip_on_cp_pct', 'appl_ziip_on_cp_pct', 0.005),
    ('transaction_appl_cp_pct', 'pct of one CP', 'transaction_appl_cp_pct', 'transaction_appl_cp_pct', 0.005),
    ('mobile_appl_cp_pct', 'pct of one CP', 'mobile_appl_cp_pct', 'transaction_appl_mobile_cp_pct', 0.005)] -%}
-- Figures computed from SMF records beside those that an RMF report of the same interval prints. A printed figure is known
-- to half a unit of its last digit only; what the difference exceeds that by is the excess.
with own_whole as (
  select interval_key, class_kind, class_name, null::integer as period_number,
    sum(transactions_ended) as transactions_ended, sum(ended_tps) as ended_tps,
    sum(executions_ended) as executions_ended, sum(mean_active) as mean_active, sum(mean_resident) as mean_resident,
    {{ ratio('sum(response_ms * transactions_ended)', 'sum(transactions_ended)') }} as response_ms,
    {{ ratio('sum(execution_ms * transactions_ended)', 'sum(transactions_ended)') }} as execution_ms,
    sum(io_service_units) as io_service_units, sum(cpu_service_units) as cpu_service_units,
    sum(storage_service_units) as storage_service_units, sum(srb_service_units) as srb_service_units,
    sum(service_units) as service_units, sum(service_per_s) as service_per_s,
    {{ ratio('sum(service_per_s)', 'sum(mean_resident)') }} as absorption_per_s,
    {{ ratio('sum(service_per_s)', 'sum(mean_active)') }} as transaction_service_per_s,
    sum(appl_cp_pct) as appl_cp_pct, sum(appl_ziip_pct) as appl_ziip_pct,
    sum(appl_ziip_on_cp_pct) as appl_ziip_on_cp_pct, sum(transaction_appl_cp_pct) as transaction_appl_cp_pct,
    sum(mobile_appl_cp_pct) as mobile_appl_cp_pct
  from {{ ref('fct_service_class') }}
  where source = 'record'
  group by interval_key, class_kind, class_name
),

own as (
  select * from own_whole
  union all by name
  select interval_key, class_kind, class_name, period_number,
    {%- for field in fields %}
    {{ field[2] }}{{ ',' if not loop.last }}
    {%- endfor %}
  from {{ ref('fct_service_class') }}
  where source = 'record'
),

class_field as (
  select r.interval_key, r.report,
    o.class_kind || ' ' || o.class_name || coalesce(' period ' || o.period_number, '') as subject,
    unnest([
      {%- for field, unit, ours, theirs, rounding in fields %}
      {'field': '{{ field }}', 'unit': '{{ unit }}', 'etalon_value': o.{{ ours }}::double,
        'rmf_value': (w.{{ theirs }})::double, 'rounding': {{ rounding }}::double}{{ ',' if not loop.last }}
      {%- endfor %}
    ], recursive := true)
  from {{ ref('int_report') }} r
  join {{ ref('stg_rmf_wlm_class') }} w using (file_id, record_seq)
  join own o
    on o.interval_key = r.interval_key and o.class_kind = w.class_kind and o.class_name = w.class_name
    and o.period_number is not distinct from w.period
  where r.report = 'WLMGL' and w.message is null
),

engine_field as (
  select e.interval_key, 'CPU' as report, e.engine_type as subject, unnest([
      {'field': 'engines', 'unit': 'engines', 'etalon_value': e.engines::double, 'rmf_value': p.engines::double,
        'rounding': 0.0::double},
      {'field': 'lpar_busy_pct', 'unit': 'pct', 'etalon_value': e.lpar_busy_pct,
        'rmf_value': 100 * {{ ratio('p.lpar_busy_s', 'p.online_s') }}, 'rounding': 0.005::double},
      {'field': 'mvs_busy_pct', 'unit': 'pct', 'etalon_value': e.mvs_busy_pct,
        'rmf_value': 100 * {{ ratio('p.mvs_busy_s', 'p.mvs_available_s') }}, 'rounding': 0.005::double}
    ], recursive := true)
  from {{ ref('fct_interval_utilization') }} e
  join {{ ref('int_report_engine') }} p using (interval_key, engine_type)
  where e.source = 'record'
),

fields as (
  select * from class_field
  union all by name
  select * from engine_field
)

select
  f.interval_key::varchar as interval_key,
  n.system_id::varchar as system_id,
  n.smf_sid::varchar as smf_sid,
  n.interval_start_local::timestamp as interval_start_local,
  f.report::varchar as report,
  f.subject::varchar as subject,
  f.field::varchar as field,
  f.unit::varchar as unit,
  f.etalon_value::double as etalon_value,
  f.rmf_value::double as rmf_value,
  (f.etalon_value - f.rmf_value)::double as difference,
  (100 * {{ ratio('f.etalon_value - f.rmf_value', 'abs(f.rmf_value)') }})::double as difference_pct,
  f.rounding::double as rounding,
  (100 * {{ ratio('greatest(abs(f.etalon_value - f.rmf_value) - f.rounding, 0)',
    'greatest(abs(f.rmf_value), f.rounding)') }})::double as excess_pct
from fields f
join {{ ref('int_interval') }} n using (interval_key)
where f.etalon_value is not null and f.rmf_value is not null
