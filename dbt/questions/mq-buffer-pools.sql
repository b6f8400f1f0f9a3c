-- Which buffer pools of MQ are too small?
-- A pool that reads pages, or has few free buffers left, needs more buffers. A request without a free buffer had to
-- wait.
select system_id, queue_manager, buffer_pool, max(buffers) as buffers, sum(page_reads) as page_reads,
  round(100 * (1 - sum(page_reads) / nullif(sum(page_requests), 0)), 1) as hit_pct,
  round(min(mq_buffers_free_min_pct), 1) as free_min_pct, sum(synchronous_writes) as synchronous_writes,
  sum(no_buffer_suspends) as no_buffer_suspends
from marts.fct_mq_buffer_pool
where buffers > 0
group by system_id, queue_manager, buffer_pool
order by no_buffer_suspends desc, page_reads desc, queue_manager, buffer_pool
limit 12
