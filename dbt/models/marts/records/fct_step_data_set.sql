-- What a batch step did to each data set: the I/O of a data definition (30.4), and the data set that was opened by its
-- name in the same step (14 for input, 15 for output), or job where those records do not say in which step. Without
-- those records the name is unknown.
with opened as (
  select smf_sid, job_name, reader_start_date, reader_start_clock_us, coalesce(trim(step_name), '') as step_name,
    trim(dd_name) as dd_name,
    max(nullif(trim(data_set_name), '')) as data_set_name, count(distinct trim(data_set_name)) as data_sets,
    sum(reads) as opens_input, sum(writes) as opens_output
  from (
    select h.*, e.step_name, 1 as reads, 0 as writes from {{ source('staging', 'stg_smf14_header') }} h
    left join {{ source('staging', 'stg_smf14_extension') }} e
      on e.file_id = h.file_id and e.record_seq = h.record_seq and e.section_type = 3
    union all by name
    select h.*, e.step_name, 0 as reads, 1 as writes from {{ source('staging', 'stg_smf15_header') }} h
    left join {{ source('staging', 'stg_smf15_extension') }} e
      on e.file_id = h.file_id and e.record_seq = h.record_seq and e.section_type = 3
  )
  group by smf_sid, job_name, reader_start_date, reader_start_clock_us, coalesce(trim(step_name), ''), trim(dd_name)
),

-- A step with many definitions has further records, each with definitions of its own from its first section on; a
-- section that is there again at the same place of the same step's record is of a copy.
written as (
  select distinct
    e.smf_sid, i.job_name, i.jes_job_id, i.step_number, i.step_name, i.program_name, i.reader_start_date,
    i.reader_start_clock_us, e.written_local as step_end_local, trim(e.dd_name) as dd_name, e.section_seq, e.device_class,
    e.unit_type, e.device_number,
    -- The first bit of the block size tells that blocks could not be counted.
    case when e.block_size_bytes < 32768 then e.blocks end as blocks,
    e.block_size_bytes, e.large_block_size_bytes, e.device_connect_us
  from {{ source('staging', 'stg_smf30_excp') }} e
  join {{ source('staging', 'stg_smf30_header') }} h using (file_id, record_seq)
  join {{ source('staging', 'stg_smf30_identification') }} i using (file_id, record_seq)
  where h.subtype = 4
),

used as (
  select
    smf_sid, job_name, jes_job_id, step_number, step_name, program_name, reader_start_date, reader_start_clock_us,
    step_end_local, dd_name,
    sum(blocks) as blocks, sum(blocks * coalesce(nullif(large_block_size_bytes, 0), block_size_bytes)) as bytes,
    sum(device_connect_us) as connect_us
  from written
  group by all
)

select
  coalesce(o.system_id, u.smf_sid)::varchar as system_id,
  u.smf_sid::varchar as smf_sid,
  trim(u.job_name)::varchar as job_name,
  trim(u.jes_job_id)::varchar as jes_job_id,
  u.step_number::integer as step_number,
  trim(u.step_name)::varchar as step_name,
  trim(u.program_name)::varchar as program_name,
  u.step_end_local::timestamp as step_end_local,
  u.dd_name::varchar as dd_name,
  coalesce(d.data_set_name, j.data_set_name)::varchar as data_set_name,
  coalesce(d.data_sets, j.data_sets, 0)::integer as data_sets,
  coalesce(d.opens_input, j.opens_input)::integer as opens_input,
  coalesce(d.opens_output, j.opens_output)::integer as opens_output,
  u.blocks::double as blocks,
  u.bytes::double as bytes_max,
  (u.connect_us / 1e6)::double as connect_s,
  {{ metric('step_connect_us_per_block') }} as step_connect_us_per_block
from used u
{% for opened, step in [('d', 'trim(u.step_name)'), ('j', "''")] -%}
left join opened {{ opened }}
  on {{ opened }}.smf_sid = u.smf_sid and {{ opened }}.job_name = u.job_name
  and {{ opened }}.reader_start_date = u.reader_start_date
  and {{ opened }}.reader_start_clock_us = u.reader_start_clock_us and {{ opened }}.dd_name = u.dd_name
  and {{ opened }}.step_name = {{ step }}
{% endfor -%}
left join {{ ref('int_owner') }} o on o.smf_sid = u.smf_sid
