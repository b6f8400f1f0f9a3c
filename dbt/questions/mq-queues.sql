-- Which queues and channels use the CPU of MQ, and how long do messages stay?
-- Needs accounting class 3. CPU is that of the calls to the queue; time on the queue is in ms.
select system_id, queue_manager, connection_kind, channel_name, queue_name, sum(messages_put) as messages_put,
  sum(messages_got) as messages_got, round(sum(cpu_s), 6) as cpu_s,
  round(1e6 * sum(cpu_s) / nullif(sum(messages_put) + sum(messages_got), 0), 3) as cpu_us_per_message,
  round(sum(messages_got * mq_time_on_queue_ms) / nullif(sum(messages_got), 0), 3) as on_queue_ms,
  max(depth_max) as depth_max
from marts.fct_mq_queue
group by all
order by cpu_s desc, queue_name
limit 12
