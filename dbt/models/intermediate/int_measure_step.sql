-- Batch steps (SMF 30 subtype 4) and FTP transfers (SMF 119 subtype 70). Their records carry local time alone: the
-- offset of their system makes UTC of it, and none is taken where none is known.
with steps as (
  select r.system_id, r.point, r.condition, null::double as seconds,
    unnest({{ measures_of('step') }}, recursive := true)
  from {{ ref('int_step') }} s
  asof left join {{ ref('int_utc_offset') }} k on k.smf_sid = s.smf_sid and k.from_local <= s.step_start_local
  join {{ ref('int_run') }} r
    on {{ at_run('r', 's.smf_sid', 's.step_start_local - to_seconds(coalesce(k.ahead_s, 0)::bigint)') }}
  group by r.system_id, r.point, r.condition
),

transfers as (
  select r.system_id, r.point, r.condition, date_diff('microsecond', r.start_utc, r.end_utc) / 1e6 as seconds,
    unnest({{ measures_of('transfer') }}, recursive := true)
  from (
    select *, ended_date + to_microseconds(ended_clock_us) as ended_local
    from {{ source('staging', 'stg_smf119_70_transfer') }}
  ) t
  asof left join {{ ref('int_utc_offset') }} k on k.smf_sid = t.smf_sid and k.from_local <= t.ended_local
  join {{ ref('int_run') }} r
    on {{ at_run('r', 't.smf_sid', 't.ended_local - to_seconds(coalesce(k.ahead_s, 0)::bigint)') }}
  group by r.system_id, r.point, r.condition, r.start_utc, r.end_utc
)

select system_id, point, condition, true as is_run, 1 as position, seconds, null::varchar as workload, '' as subject,
  metric, unit, aggregation, scale, numerator, denominator
from (
  select * from steps
  union all by name
  select * from transfers
)
