-- Every logical processor (core) of every LPAR of the CPC, as each 70.1 record has it, PHYSICAL among them.
-- A CPC whose serial number is not recorded is known by the system that measured it.
select
  r.interval_key, r.file_id, r.record_seq, r.smf_sid, r.interval_start_utc, r.interval_start_local, r.interval_s,
  coalesce(nullif(trim(c.cpc_serial), ''), r.smf_sid) as cpc,
  p.partition_name as lpar_name,
  p.partition_name <> 'PHYSICAL' and p.partition_number = ('0x' || me.partition_number)::bigint as is_own,
  nullif(p.defined_capacity_msu, 0) as defined_capacity_msu,
  nullif(trim(p.capacity_group_name), '') as capacity_group_name,
  nullif(p.capacity_group_limit_msu, 0) as capacity_group_limit_msu,
  l.logical_processor_address,
  {{ named_engine_type('t.processor_type_name') }} as engine_type,
  t.physical_processor_count as physical_engines,
  l.online_us / 1e6 as online_s,
  l.total_dispatch_us / 1e6 as dispatch_s,
  l.effective_dispatch_us / 1e6 as effective_dispatch_s,
  l.wait_us / 1e6 as wait_s,
  l.weight = 65535 as is_dedicated,
  case when l.weight <> 65535 then coalesce({{ ratio('nullif(l.weight_sum, 0)', 'c.diagnose_samples') }}, l.weight) end
    as weight,
  -- An engine that its LPAR keeps while it waits is dispatched all the time: it is busy when it does not wait, if PR/SM says.
  case when (l.weight = 65535 or l.is_wait_completion) and l.wait_us > 0
    then greatest(l.online_us - l.wait_us, 0) else l.effective_dispatch_us end / 1e6 as busy_s,
  l.is_wait_completion,
  l.is_initially_capped,
  {{ ratio('l.capping_samples', 'c.diagnose_samples') }} as wlm_capping_fraction,
  {{ ratio('l.capped_samples', 'c.diagnose_samples') }} as capped_fraction,
  p.is_ziip_boost,
  p.is_speed_boost,
  nullif(l.hardware_cap_processors, 0) as cap_engines,
  nullif(l.hardware_group_cap_processors, 0) as group_cap_engines,
  l.polarisation_code
from {{ ref('int_record') }} r
join {{ source('staging', 'stg_smf70_1_control') }} c using (file_id, record_seq)
join {{ source('staging', 'stg_smf70_1_product') }} me using (file_id, record_seq)
join {{ source('staging', 'stg_smf70_1_partition') }} p using (file_id, record_seq)
join {{ source('staging', 'stg_smf70_1_logical_processor') }} l
  on l.file_id = r.file_id and l.record_seq = r.record_seq
  and l.section_seq >= p.logical_processor_skip
  and l.section_seq < p.logical_processor_skip + p.logical_processor_count
left join {{ source('staging', 'stg_smf70_1_cpu_identification') }} t
  on t.file_id = r.file_id and t.record_seq = r.record_seq and t.section_seq + 1 = l.cpu_identification_index
where r.record_type = '70.1'
