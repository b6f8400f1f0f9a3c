-- Which address spaces use the most virtual storage, and where?
-- Largest allocation seen of the private area below and above 16 MiB, and of memory objects above the bar.
select system_id, job_name,
  round(max(max_bytes) filter (where location = 'below') / 1024, 0) as below_kb,
  round(max(max_bytes) filter (where location = 'above') / 1048576, 2) as above_mb,
  round(max(max_bytes) filter (where area = 'memory objects') / 1048576, 2) as memory_objects_mb
from marts.fct_storage
group by all
order by above_mb desc nulls last, system_id, job_name
limit 12
