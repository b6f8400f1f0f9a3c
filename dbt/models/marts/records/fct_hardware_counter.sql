-- SMF 113.1 has what counters grew by in an interval, 113.2 what they count since the run started: there an interval is the
-- difference to the record before. Of intervals that both have, those of 113.1 are taken. Extended counters, whose meaning
-- depends on the machine, are numbered from 128 on; those of the z13 tell where a line of the first-level caches came from.
{%- set z13_sources = {
  'l3': [144, 145, 162, 163], 'l4_local': [146, 147, 148, 164, 165, 166],
  'l4_remote': [149, 150, 151, 152, 153, 154, 155, 156, 157, 167, 168, 169, 170, 171, 172, 173, 174, 175],
  'memory': [158, 159, 160, 161, 176, 177, 178, 179]} %}
with counter_set as (
  select *, coalesce(sum(set_counters) over (
    partition by file_id, record_seq, parent_seq order by section_seq rows between unbounded preceding and 1 preceding
  ), 0) as first_place
  from {{ source('staging', 'stg_smf113_2_counter_set') }}
),

-- The counters of a processor follow one another, set after set.
placed as (
  select *, row_number() over (partition by file_id, record_seq, parent_seq order by section_seq) - 1 as place
  from {{ source('staging', 'stg_smf113_2_counter') }}
),

counter as (
  select c.smf_sid, d.processor_number, d.processor_class, d.machine_type, d.run_start_utc, d.collected_utc,
    d.cycles_per_us, c.place - s.first_place + case s.set_type when 4 then 128 else 0 end as number, c.counter_value
  from placed c
  join counter_set s
    on s.file_id = c.file_id and s.record_seq = c.record_seq and s.parent_seq = c.parent_seq and s.set_type in (1, 4)
    and c.place >= s.first_place and c.place < s.first_place + s.set_counters
  join {{ first_written(source('staging', 'stg_smf113_2_data'), ['processor_number', 'run_start_utc'], 'collected_utc') }} d
    on d.file_id = c.file_id and d.record_seq = c.record_seq and d.section_seq = c.parent_seq
),

grown as (
  select c.smf_sid, d.processor_number, d.processor_class, d.machine_type, d.cycles_per_us,
    coalesce(i.interval_start_utc, d.run_start_utc) as start_utc, d.collected_utc,
    row_number() over (partition by c.file_id, c.record_seq, c.parent_seq order by c.section_seq) - 1
      + case s.set_type when 4 then 128 else 0 end as number,
    coalesce(c.first_word * 4294967296::hugeint + c.second_word, c.first_word) as counted
  from {{ source('staging', 'stg_smf113_1_counter') }} c
  join {{ source('staging', 'stg_smf113_1_counter_set') }} s
    on s.file_id = c.file_id and s.record_seq = c.record_seq and s.section_seq = c.parent_seq and s.set_type in (1, 4)
  join {{ first_written(source('staging', 'stg_smf113_1_data'), ['processor_number', 'run_start_utc'], 'collected_utc') }} d
    on d.file_id = c.file_id and d.record_seq = c.record_seq and d.section_seq = s.parent_seq
  left join {{ source('staging', 'stg_smf113_1_identification') }} i
    on i.file_id = c.file_id and i.record_seq = c.record_seq
),

counted as (
  select * from grown
  union all by name
  select * exclude (run_start_utc, counter_value)
  from (
    select *, counter_value - lag(counter_value) over run as counted, lag(collected_utc) over run as start_utc
    from counter
    window run as (partition by smf_sid, processor_number, run_start_utc, number order by collected_utc)
  ) c
  where not exists (
    select 1 from grown g
    where g.smf_sid = c.smf_sid and g.processor_number = c.processor_number and g.start_utc < c.collected_utc
      and g.collected_utc > c.start_utc
  )
),

processor as (
  select smf_sid, processor_class, machine_type, processor_number, start_utc, collected_utc,
    max(cycles_per_us) as cycles_per_us,
    {% for name in ['cycles', 'instructions', 'l1_instruction_writes', 'l1_instruction_penalty', 'l1_data_writes',
        'l1_data_penalty'] -%}
    max(counted) filter (where number = {{ loop.index0 }}) as {{ name }},
    {% endfor -%}
    {% for source, numbers in z13_sources.items() -%}
    sum(counted) filter (where machine_type in ('2964', '2965') and number in ({{ numbers | join(', ') }}))
      as {{ source }}_writes{{ ',' if not loop.last }}
    {% endfor %}
  from counted
  where start_utc is not null
  group by smf_sid, processor_class, machine_type, processor_number, start_utc, collected_utc
),

together as (
  select smf_sid, processor_class, max(machine_type) as machine_type, date_trunc('minute', start_utc) as start_utc,
    count(distinct processor_number) as processors,
    max(date_diff('microsecond', p.start_utc, p.collected_utc)) / 1e6 as interval_s,
    {% for column in ['cycles', 'instructions', 'l1_instruction_writes', 'l1_data_writes', 'l3_writes', 'l4_local_writes',
        'l4_remote_writes', 'memory_writes'] -%}
    sum({{ column }}) as {{ column }},
    {% endfor -%}
    -- Of the processors that wrote where their misses came from.
    sum(l1_instruction_writes + l1_data_writes) filter (where l3_writes is not null) as l1_writes_with_sources,
    sum(l1_instruction_penalty + l1_data_penalty) as l1_penalty,
    sum(cycles / nullif(cycles_per_us, 0)) / 1e6 as active_s
  from processor p
  group by smf_sid, processor_class, date_trunc('minute', p.start_utc)
)

select
  coalesce(o.system_id, t.smf_sid)::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.start_utc::timestamp as interval_start_utc,
  t.interval_s::double as interval_s,
  (case t.processor_class when 0 then 'CP' when 2 then 'zAAP' when 4 then 'zIIP'
    else t.processor_class::varchar end)::varchar as engine_type,
  t.machine_type::varchar as cpc_type,
  t.processors::integer as processors,
  t.active_s::double as active_s,
  t.instructions::double as instructions,
  {{ metric('cycles_per_instruction') }} as cycles_per_instruction,
  {{ metric('finite_cycles_per_instruction') }} as finite_cycles_per_instruction,
  {{ metric('l1_miss_pct') }} as l1_miss_pct,
  {{ metric('relative_nest_intensity') }} as relative_nest_intensity,
  {{ metric('million_instructions_per_s') }} as million_instructions_per_s
from together t
left join {{ ref('int_owner') }} o using (smf_sid)
