-- The machine and partition each interval was measured on. An engine has two ratings: `service_units_per_s` turns recorded
-- service into CPU time, `software_service_units_per_s` turns CPU time into MSU, of classes and LPARs alike.
with recorded as (
  select
    r.interval_key,
    nullif(trim(c.cpc_type), '') as cpc_type,
    nullif(trim(c.cpc_model), '') as cpc_model,
    nullif(trim(c.cpc_physical_model), '') as cpc_physical_model,
    nullif(c.image_capacity_msu, 0)::double as image_capacity_msu,
    16000000.0 / nullif(c.cpu_adjustment_factor, 0) as software_service_units_per_s
  from {{ ref('int_record') }} r
  join {{ source('staging', 'stg_smf70_1_control') }} c using (file_id, record_seq)
  where r.record_type = '70.1'
),

reported as (
  select r.interval_key, s.cpc_type, s.cpc_model, s.cpc_physical_model,
    p.image_capacity_msu::double as image_capacity_msu,
    {{ ratio('s.cpc_capacity_msu * 1e6 / 3600', 'p.cp_processors') }} as software_service_units_per_s
  from {{ ref('int_report') }} r
  join {{ ref('stg_rmf_cpu_system') }} s using (file_id, record_seq)
  left join {{ ref('stg_rmf_partition_config') }} p using (file_id, record_seq)
  anti join recorded using (interval_key)
  qualify row_number() over (partition by r.interval_key order by r.file_id, r.record_seq) = 1
),

speed as (
  select r.interval_key, max(16000000.0 / nullif(c.cpu_rate_adjustment, 0)) as service_units_per_s,
    max(16000000.0 * coalesce(nullif(c.cpu_adjustment_scaling, 0), 1) / nullif(c.cpu_adjustment_actual, 0))
      as workload_service_units_per_s
  from {{ ref('int_record') }} r
  join {{ source('staging', 'stg_smf72_3_control') }} c using (file_id, record_seq)
  where r.record_type = '72.3'
  group by r.interval_key
)

select interval_key, m.* exclude (interval_key, software_service_units_per_s), s.service_units_per_s,
  coalesce(m.software_service_units_per_s, s.workload_service_units_per_s) as software_service_units_per_s
from (
  select * from recorded
  union all by name
  select * from reported
) m
full join speed s using (interval_key)
