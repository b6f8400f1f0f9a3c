-- Which data sets make batch steps long?
-- Blocks and connect time of each data definition (SMF 30.4), with the name of the opened data set (14 and 15).
select system_id, job_name, step_name, program_name, dd_name, data_set_name, count(*) as runs, sum(blocks) as blocks,
  round(sum(connect_s), 3) as connect_s
from marts.fct_step_data_set
group by system_id, job_name, step_name, program_name, dd_name, data_set_name
order by connect_s desc nulls last, blocks desc, job_name
limit 12
