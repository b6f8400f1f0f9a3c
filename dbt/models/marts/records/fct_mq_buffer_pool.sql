-- Pools 0 to 15 stand in 115.2, all of them in 115.215, of releases that write it: there the former are left out.
with pool as (
  select 2 as place, b.*, s.queue_manager, coalesce(s.interval_start_local, s.written_local) as start_local,
    s.interval_us / 1e6 as interval_s
  from {{ source('staging', 'stg_smf115_2_buffer_pool') }} b
  join {{ source('staging', 'stg_smf115_2_standard') }} s using (file_id, record_seq)
  union all by name
  select 1 as place, b.*, s.queue_manager, coalesce(s.interval_start_local, s.written_local) as start_local,
    s.interval_us / 1e6 as interval_s
  from {{ source('staging', 'stg_smf115_215_buffer_pool') }} b
  join {{ source('staging', 'stg_smf115_215_standard') }} s using (file_id, record_seq)
)

select
  coalesce(o.system_id, p.smf_sid)::varchar as system_id,
  p.smf_sid::varchar as smf_sid,
  trim(p.queue_manager)::varchar as queue_manager,
  p.start_local::timestamp as interval_start_local,
  p.interval_s::double as interval_s,
  p.buffer_pool::integer as buffer_pool,
  p.buffers::double as buffers,
  p.old_page_requests::double as page_requests,
  p.page_reads::double as page_reads,
  p.synchronous_writes::double as synchronous_writes,
  p.no_buffer_suspends::double as no_buffer_suspends,
  {{ metric('mq_buffer_hit_pct', {'hits': 'p.old_page_requests - p.page_reads', 'requests': 'p.old_page_requests'}) }}
    as mq_buffer_hit_pct,
  {{ metric('mq_buffers_free_min_pct', {'free': 'p.lowest_stealable_buffers', 'buffers': 'p.buffers'}) }}
    as mq_buffers_free_min_pct
from pool p
left join {{ ref('int_owner') }} o on o.smf_sid = p.smf_sid
qualify row_number() over (
  partition by p.smf_sid, p.queue_manager, p.start_local, p.buffer_pool
  order by p.place, p.file_id, p.record_seq) = 1
