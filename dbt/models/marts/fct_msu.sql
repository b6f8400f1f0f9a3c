-- The rolling four-hour average (R4HA) in two ways. That of an interval takes the intervals that end within the four hours
-- up to its own end. That of hours, as SCRT reports it, takes the mean of the clock hour and of the three before it. Hours in
-- which the LPAR was down count as zero in both; hours of which nothing is known do not count.
with msu as (
  select *, coalesce(interval_start_utc, interval_start_local) as started, interval_start_utc is null as is_local,
    {{ end_utc('started', 'interval_s') }} as ended, interval_start_local - started as clock_ahead,
    date_trunc('hour', interval_start_local) - clock_ahead as hour_at,
    case when msu is not null then interval_s end as measured_s
  from {{ ref('int_msu') }}
),

down as (
  select m.scope, m.name, m.started, sum({{ overlap_s("m.ended - interval 4 hour", '14400.0', 'o.start_utc',
    "date_diff('microsecond', o.start_utc, o.end_utc) / 1e6") }}) as down_s
  from msu m
  join {{ ref('int_outage') }} o
    on o.smf_sid = m.name and o.start_utc < m.ended and o.end_utc > m.ended - interval 4 hour
  where m.scope = 'lpar' and not m.is_local
  group by all
),

-- Seconds of each clock hour (of local time, as SCRT has it), and what was used in them.
in_hour as (
  select scope, name, is_local, hour_local - clock_ahead as hour_at,
    {{ overlap_s('hour_local', '3600.0', 'interval_start_local', 'interval_s') }} as known_s, known_s * msu as used
  from (
    select *, unnest({{ hours_touched('interval_start_local', 'interval_s') }}) as hour_local from msu
    where msu is not null
  )
  union all
  select 'lpar', smf_sid, false, hour_local - clock_ahead,
    {{ overlap_s('hour_local', '3600.0', 'start_utc + clock_ahead', 'down_s') }}, 0
  from (
    select *, date_diff('microsecond', start_utc, end_utc) / 1e6 as down_s,
      unnest({{ hours_touched('start_utc + clock_ahead', 'down_s') }}) as hour_local
    from {{ ref('int_outage') }}
  )
),

hourly as (
  select *, avg(hour_msu) over (
      partition by scope, name, is_local order by hour_at range between interval 3 hour preceding and current row
    ) as r4ha_msu
  from (
    select scope, name, is_local, hour_at, {{ ratio('sum(used)', 'sum(known_s)') }} as hour_msu
    from in_hour
    where known_s > 0
    group by scope, name, is_local, hour_at
  )
)

select
  m.scope::varchar as scope,
  m.name::varchar as name,
  m.interval_key::varchar as interval_key,
  m.system_id::varchar as system_id,
  m.interval_start_utc::timestamp as interval_start_utc,
  m.interval_start_local::timestamp as interval_start_local,
  m.interval_s::double as interval_s,
  m.msu::double as msu,
  {{ ratio('sum(m.msu * m.interval_s) over four_hours',
    'coalesce(sum(m.measured_s) over four_hours, 0) + coalesce(d.down_s, 0)') }}::double as r4ha_msu,
  ((sum(m.measured_s) over four_hours + coalesce(d.down_s, 0)) / 3600)::double as hours_averaged,
  h.r4ha_msu::double as hourly_r4ha_msu,
  m.recorded_r4ha_msu::double as recorded_r4ha_msu,
  m.capacity_msu::double as capacity_msu,
  m.source::varchar as source
from msu m
left join down d using (scope, name, started)
left join hourly h using (scope, name, is_local, hour_at)
window four_hours as (
  partition by m.scope, m.name, m.is_local order by m.ended
  range between interval '3 hours 59 minutes 59 seconds' preceding and current row
)
