with printed as (
  select *,
    -- As in `00.00.00.500 AVG` or `00.00.02.000 80%`: hours, minutes, seconds; mean or percentile.
    regexp_extract(response_goal, '^\s*(\d+)\.(\d+)\.(\d+\.\d+)\s+(AVG|(\d+)%)\s*$',
      ['hours', 'minutes', 'seconds', 'of', 'percentile']) as goal
  from {{ source('rmf', 'rmf_wlm_period') }}
)

select
  file_id, record_seq, section_seq,
  class_kind, class_name, period,
  case when importance in ('SYSTEM', 'D') then 0 else try_cast(importance as integer) end as importance,
  case
    when velocity_goal_pct is not null then 'velocity'
    when goal.of = 'AVG' then 'average response'
    when goal.of <> '' then 'percentile response'
    when importance = 'D' then 'discretionary'
    when importance = 'SYSTEM' then 'system'
  end as goal_kind,
  (try_cast(goal.hours as double) * 3600 + try_cast(goal.minutes as double) * 60 + try_cast(goal.seconds as double)) * 1e3
    as goal_ms,
  try_cast(goal.percentile as double) as goal_percentile_pct,
  velocity_goal_pct as goal_velocity_pct, velocity_actual_pct as velocity_pct, performance_index, transactions_ended
from printed
