-- Which channels of MQ move the most messages, and in how large batches?
-- Channel accounting (116.10). A batch ends when its queue is empty. Few messages per batch mean a slow stream; if
-- most batches are full, the batch size is too small.
select system_id, queue_manager, channel_name, max(remote_name) as remote_name, sum(messages) as messages,
  round(sum(messages) / nullif(sum(interval_s), 0), 3) as messages_per_s,
  round(max(mq_channel_messages_per_s), 3) as messages_per_s_max,
  round(sum(message_bytes) / nullif(sum(messages), 0)) as bytes_per_message,
  round(sum(messages) / nullif(sum(batches), 0), 1) as messages_per_batch,
  round(100 * sum(batches_full) / nullif(sum(batches), 0), 1) as full_batches_pct, sum(put_retries) as put_retries
from (
  select * replace (interval_s / count(*) over (
    partition by smf_sid, queue_manager, channel_name, interval_start_local) as interval_s)
  from marts.fct_mq_channel
)
group by system_id, queue_manager, channel_name
order by messages desc, queue_manager, channel_name
limit 12
