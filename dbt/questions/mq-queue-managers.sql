-- How many messages do queue managers move, and does their log keep up?
-- Rates of all intervals together, and of the busiest one. A log write is a write to the first copy.
select system_id, queue_manager, sum(puts) as puts, sum(gets) as gets,
  round(sum(puts) / nullif(sum(interval_s), 0), 3) as puts_per_s,
  round(max(mq_puts_per_s) filter (where interval_s >= 30), 3) as puts_per_s_max,
  round(sum(puts * mq_persistent_pct) / nullif(sum(puts), 0), 1) as persistent_pct,
  round(max_by(mq_log_write_us, mq_log_writes_per_s), 3) as log_write_us_busiest,
  sum(log_buffer_waits) as log_buffer_waits
from marts.fct_mq_queue_manager
group by system_id, queue_manager
order by puts desc, queue_manager
limit 12
