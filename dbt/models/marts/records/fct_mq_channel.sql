-- Channel accounting (116.10): the instances of a channel with one partner count together.
with used as (
  select c.*, trim(s.queue_manager) as queue_manager, coalesce(s.interval_start_local, s.written_local) as start_local,
    s.interval_us / 1e6 as seconds
  from {{ source('staging', 'stg_smf116_10_channel') }} c
  join {{ source('staging', 'stg_smf116_10_standard') }} s using (file_id, record_seq)
),

together as (
  select smf_sid, queue_manager, start_local, trim(channel_name) as channel_name,
    trim(connection_name) as connection_name, max(nullif(trim(remote_name), '')) as remote_name,
    count(*) as instances, max(seconds) as seconds,
    {% for column in ['messages', 'batches', 'batches_full', 'message_bytes', 'sent_bytes', 'received_bytes',
        'put_retries', 'transmission_queue_empty'] -%}
    sum({{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from {{ first_written('used', ['queue_manager', 'channel_name', 'connection_name', 'started_utc'], 'start_local') }}
  group by smf_sid, queue_manager, start_local, trim(channel_name), trim(connection_name)
)

select
  coalesce(o.system_id, t.smf_sid)::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.queue_manager::varchar as queue_manager,
  t.start_local::timestamp as interval_start_local,
  t.seconds::double as interval_s,
  t.channel_name::varchar as channel_name,
  t.connection_name::varchar as connection_name,
  t.remote_name::varchar as remote_name,
  t.instances::integer as instances,
  t.messages::double as messages,
  t.batches::double as batches,
  t.batches_full::double as batches_full,
  t.message_bytes::double as message_bytes,
  t.sent_bytes::double as sent_bytes,
  t.received_bytes::double as received_bytes,
  t.put_retries::double as put_retries,
  t.transmission_queue_empty::double as transmission_queue_empty,
  {{ metric('mq_channel_messages_per_s') }} as mq_channel_messages_per_s,
  {{ metric('mq_channel_bytes_per_message') }} as mq_channel_bytes_per_message,
  {{ metric('mq_channel_messages_per_batch') }} as mq_channel_messages_per_batch
from together t
left join {{ ref('int_owner') }} o using (smf_sid)
