-- Intervals of one LPAR may overlap where records and reports of it meet: a gap begins when all before are over. It is
-- measured in UTC: local time is set twice a year. Reports have local time only, and the offset of the records around them.
with intervals as (
  select
    *,
    coalesce(interval_start_utc, interval_start_local - coalesce(
      last_value(interval_start_local - interval_start_utc ignore nulls) over by_time,
      first_value(interval_start_local - interval_start_utc ignore nulls) over all_time,
      interval 0 second
    )) as start_at
  from {{ ref('dim_interval') }}
  window
    by_time as (partition by smf_sid order by interval_start_local),
    all_time as (
      partition by smf_sid order by interval_start_local rows between unbounded preceding and unbounded following
    )
),

starts as (
  select distinct smf_sid, ipl_utc as ipl_at, null as ipl_local from intervals where ipl_utc is not null
  union all
  select smf_sid, null, event_start_local from {{ ref('fct_system_event') }} where event = 'IPL'
),

following as (
  select
    system_id,
    smf_sid,
    start_at as gap_end_at,
    interval_start_local - start_at as clock_ahead,
    arg_max(interval_end_local, start_at + to_microseconds((interval_s * 1000000)::bigint)) over earlier
      as gap_start_local,
    interval_start_local as gap_end_local,
    epoch(start_at) - max(epoch(start_at) + interval_s) over earlier as gap_s,
    concat_ws(' ', point, condition) as run,
    lag(concat_ws(' ', point, condition)) over earlier as run_before
  from intervals
  window earlier as (partition by smf_sid order by start_at rows between unbounded preceding and 1 preceding)
)

select
  f.system_id::varchar as system_id,
  f.smf_sid::varchar as smf_sid,
  f.gap_start_local::timestamp as gap_start_local,
  f.gap_end_local::timestamp as gap_end_local,
  f.gap_s::double as gap_s,
  max(coalesce(s.ipl_local, s.ipl_at + f.clock_ahead))::timestamp as ipl_local
from following f
left join starts s
  on s.smf_sid = f.smf_sid
  and coalesce(s.ipl_at, s.ipl_local - f.clock_ahead)
    between f.gap_end_at - to_microseconds((f.gap_s * 1000000)::bigint) and f.gap_end_at + interval 5 minute
-- Nothing need be measured between two runs, nor before one or after it.
where f.run = f.run_before and f.gap_s > 60
group by all
