-- One row per engine (core) and interval of 70.1: what the operating system and PR/SM each saw of it.
-- Under SMT a core holds several threads: wait and parked time are recorded per thread, online and dispatch time per core.
-- An engine that is dedicated, or that keeps its physical engine while it waits (wait completion), is dispatched all the time:
-- it is busy when it does not wait.
with records as (
  select * from {{ ref('int_record') }} where record_type = '70.1'
),

logical_processor as (
  select * from {{ ref('int_logical_processor') }} where is_own
),

core as (
  select
    r.interval_key, r.interval_s, t.file_id, t.record_seq,
    coalesce(c.core_id, t.cpu_address) as engine_address,
    any_value(t.cpu_type_code) as cpu_type_code,
    count(*) as threads,
    sum(t.wait_us) as wait_us,
    sum(coalesce(t.parked_us, 0)) as parked_us,
    max(c.core_busy_ms) filter (where c.is_core_busy_valid) / 1e3 as core_busy_s
  from {{ source('staging', 'stg_smf70_1_cpu') }} t
  join records r using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf70_1_core') }} c
    on c.file_id = t.file_id and c.record_seq = t.record_seq
    and t.section_seq >= c.cpu_skip and t.section_seq < c.cpu_skip + c.cpu_count
  group by all
),

engine as (
  select
    core.*,
    coalesce(l.is_dedicated, true) as is_dedicated,
    coalesce(l.is_dedicated or coalesce(l.is_wait_completion, false), true) as is_dispatched_waiting,
    coalesce(l.online_s, core.interval_s) as online_s,
    l.dispatch_s,
    l.effective_dispatch_s
  from core
  left join logical_processor l
    on l.file_id = core.file_id and l.record_seq = core.record_seq
    and l.logical_processor_address = core.engine_address
)

select
  interval_key,
  engine_address,
  {{ engine_type('cpu_type_code') }} as engine_type,
  is_dedicated,
  threads,
  online_s,
  wait_us / 1e6 as wait_s,
  parked_us / threads / 1e6 as parked_s,
  greatest(threads * online_s - parked_us / 1e6, 0) as mvs_available_s,
  greatest(threads * online_s - (wait_us + parked_us) / 1e6, 0) as mvs_busy_s,
  case
    when not is_dispatched_waiting then effective_dispatch_s
    when threads > 1 then coalesce(core_busy_s, greatest(online_s - wait_us / threads / 1e6, 0))
    else greatest(online_s - (wait_us + parked_us) / 1e6, 0)
  end as busy_s,
  case
    when not is_dispatched_waiting then dispatch_s
    when threads > 1 then coalesce(core_busy_s, greatest(online_s - wait_us / threads / 1e6, 0))
    else greatest(online_s - (wait_us + parked_us) / 1e6, 0)
  end as lpar_busy_s
from engine
where online_s > 0
