-- Intervals of one LPAR may overlap where records and reports of it meet: a gap begins when all before are over.
with starts as (
  select smf_sid, ipl_local from {{ ref('dim_interval') }} where ipl_local is not null
  union
  select smf_sid, event_start_local from {{ ref('fct_system_event') }} where event = 'IPL'
),

following as (
  select
    system_id,
    smf_sid,
    max(interval_end_local) over earlier as gap_start_local,
    interval_start_local as gap_end_local,
    concat_ws(' ', point, condition) as run,
    lag(concat_ws(' ', point, condition)) over earlier as run_before
  from {{ ref('dim_interval') }}
  window earlier as (
    partition by smf_sid order by interval_start_local rows between unbounded preceding and 1 preceding
  )
)

select
  f.system_id::varchar as system_id,
  f.smf_sid::varchar as smf_sid,
  f.gap_start_local::timestamp as gap_start_local,
  f.gap_end_local::timestamp as gap_end_local,
  (epoch_us(f.gap_end_local) - epoch_us(f.gap_start_local))::double / 1e6 as gap_s,
  max(s.ipl_local)::timestamp as ipl_local
from following f
left join starts s
  on s.smf_sid = f.smf_sid and s.ipl_local between f.gap_start_local and f.gap_end_local + interval 5 minute
-- Nothing need be measured between two runs, nor before one or after it.
where f.run = f.run_before and f.gap_end_local - f.gap_start_local > interval 1 minute
group by all
