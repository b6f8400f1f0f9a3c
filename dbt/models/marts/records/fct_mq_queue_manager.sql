-- Statistics of a queue manager: message calls (115.2) with the log (115.1) of the same interval.
with message as (
  select h.*, s.queue_manager, coalesce(s.interval_start_local, s.written_local) as start_local,
    s.interval_us / 1e6 as interval_s
  from {{ source('staging', 'stg_smf115_2_message_manager') }} h
  join {{ source('staging', 'stg_smf115_2_standard') }} s using (file_id, record_seq)
),

log_manager as (
  select h.*, s.queue_manager, coalesce(s.interval_start_local, s.written_local) as start_local,
    s.interval_us / 1e6 as interval_s
  from {{ source('staging', 'stg_smf115_1_log_manager') }} h
  join {{ source('staging', 'stg_smf115_1_standard') }} s using (file_id, record_seq)
)

select
  coalesce(o.system_id, m.smf_sid)::varchar as system_id,
  m.smf_sid::varchar as smf_sid,
  trim(m.queue_manager)::varchar as queue_manager,
  m.start_local::timestamp as interval_start_local,
  m.interval_s::double as interval_s,
  m.opens::double as opens,
  (m.puts + m.put1s)::double as puts,
  m.gets::double as gets,
  m.publishes::double as publishes,
  l.checkpoints::double as checkpoints,
  l.buffer_waits::double as log_buffer_waits,
  l.reads_from_archive_log::double as archive_log_reads,
  {{ metric('mq_puts_per_s', {'puts': 'm.puts + m.put1s', 'seconds': 'm.interval_s'}) }} as mq_puts_per_s,
  {{ metric('mq_gets_per_s', {'gets': 'm.gets', 'seconds': 'm.interval_s'}) }} as mq_gets_per_s,
  {{ metric('mq_persistent_pct', {'persistent': 'm.persistent_puts',
    'all': 'm.persistent_puts + m.nonpersistent_puts'}) }} as mq_persistent_pct,
  {{ metric('mq_log_writes_per_s', {'log_writes': 'l.log_writes', 'seconds': 'm.interval_s'}) }} as mq_log_writes_per_s,
  {{ metric('mq_log_bytes_per_s', {'cis_written': 'l.cis_written', 'seconds': 'm.interval_s'}) }} as mq_log_bytes_per_s,
  {{ metric('mq_log_write_us', {
    'io_us': 'coalesce(l.io_copy1_kind1_total_us, 0) + coalesce(l.io_copy1_kind2_total_us, 0)',
    'ios': 'coalesce(l.io_copy1_kind1_count, 0) + coalesce(l.io_copy1_kind2_count, 0)'}) }} as mq_log_write_us
from {{ first_written('message', ['queue_manager'], 'start_local') }} m
left join {{ first_written('log_manager', ['queue_manager'], 'start_local') }} l
  on l.smf_sid = m.smf_sid and l.queue_manager = m.queue_manager and l.start_local = m.start_local
left join {{ ref('int_owner') }} o on o.smf_sid = m.smf_sid
