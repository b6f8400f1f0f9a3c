{%- set views = ['stg_smf71_paging', 'stg_smf73_channel', 'stg_smf74_1_device', 'stg_smf74_4_request',
  'stg_smf78_2_common', 'stg_smf78_2_private'] -%}
-- How much of each recorded interval falls into which interval of its measured point. LPARs and record types of a point
-- need not be recorded in the same rhythm: the point's time is cut wherever one of their intervals begins or ends, the
-- longest interval recorded at a time names the point's interval (of those equal to a second, one of CPU or workload
-- records), and every interval is divided by seconds over those it meets. So seconds pass once, and what was counted in
-- an interval adds up to what it was. Starts are whole seconds and lengths are measured: an interval ends where the next
-- one of its LPAR begins, if that is less than a second earlier. An interval outside every measured run is a point of
-- its own.
with recorded as (
  select smf_sid, interval_start_utc, interval_s, min(interval_start_local) as interval_start_local,
    bool_or(is_interval) as is_interval
  from (
    select smf_sid, interval_start_utc, interval_s, interval_start_local, true as is_interval
    from {{ ref('int_interval') }}
    {%- for view in views %}
    union all
    select smf_sid, interval_start_utc, interval_s, interval_start_local, false from {{ source('staging', view) }}
    {%- endfor %}
  )
  where interval_start_utc is not null and interval_s > 0 and smf_sid in (select smf_sid from {{ ref('int_run') }})
  group by smf_sid, interval_start_utc, interval_s
),

followed as (
  select *, {{ end_utc('interval_start_utc', 'interval_s') }} as measured_end_utc,
    min(interval_start_utc) over (
      partition by smf_sid order by interval_start_utc
      range between interval 1 microsecond following and unbounded following
    ) as next_start_utc
  from recorded
),

ended as (
  select * exclude (measured_end_utc, next_start_utc),
    case when measured_end_utc - next_start_utc between interval 0 second and interval 1 second
      then next_start_utc else measured_end_utc end as interval_end_utc
  from followed
),

member as (
  select distinct r.system_id, r.point, r.condition, i.*,
    date_diff('microsecond', i.interval_start_utc, i.interval_end_utc) / 1e6 as length_s
  from ended i
  join {{ ref('int_run') }} r on {{ in_run('r', 'i.smf_sid', 'i.interval_start_utc', 'i.interval_s') }}
),

edge as (
  select system_id, point, condition, interval_start_utc as start_utc from member
  union
  select system_id, point, condition, interval_end_utc from member
),

slice as (
  select *, lead(start_utc) over (partition by system_id, point, condition order by start_utc) as end_utc from edge
),

by_hour as (
  select *, unnest({{ hours_touched('interval_start_utc', 'interval_s') }}) as hour from member
),

piece as (
  select m.* exclude (hour), s.start_utc, date_diff('microsecond', s.start_utc, s.end_utc) / 1e6 as piece_s,
    first_value({'smf_sid': m.smf_sid, 'start_utc': m.interval_start_utc, 'seconds': m.interval_s}) over (
      partition by s.system_id, s.point, s.condition, s.start_utc
      order by round(m.interval_s) desc, m.is_interval desc, m.interval_s desc, m.smf_sid, m.interval_start_utc
    ) as longest
  from slice s
  join by_hour m
    on m.system_id = s.system_id and m.point = s.point and m.condition = s.condition
    and m.hour = date_trunc('hour', s.start_utc)
    and m.interval_start_utc <= s.start_utc and s.start_utc < m.interval_end_utc
),

shared as (
  select system_id, point, condition, longest, smf_sid, interval_start_utc, interval_s, length_s,
    min(start_utc) as first_start_utc,
    min(start_utc + (interval_start_local - interval_start_utc)) as first_start_local,
    sum(piece_s) as common_s
  from piece
  group by all
),

point_interval as (
  select system_id, point, condition, longest, min(first_start_utc) as point_start_utc,
    min(first_start_local) as point_start_local,
    sum(interval_s * common_s / length_s) filter (
      where smf_sid = longest.smf_sid and interval_start_utc = longest.start_utc and interval_s = longest.seconds) as seconds,
    row_number() over (partition by system_id, point, condition order by min(first_start_utc)) as position
  from shared
  group by system_id, point, condition, longest
)

select p.system_id, p.point, p.condition, true as is_run, p.position, p.point_start_utc, p.point_start_local, p.seconds,
  s.smf_sid, s.interval_start_utc, s.interval_s, s.common_s / s.length_s as share, n.interval_key
from shared s
join point_interval p using (system_id, point, condition, longest)
left join {{ ref('int_interval') }} n
  on n.smf_sid = s.smf_sid and n.interval_start_utc = s.interval_start_utc and n.interval_s = s.interval_s
  and n.system_id = s.system_id and n.point = s.point and n.condition = s.condition
union all by name
select system_id, interval_key as point, '' as condition, false as is_run, 1 as position,
  interval_start_utc as point_start_utc, interval_start_local as point_start_local, interval_s as seconds,
  smf_sid, interval_start_utc, interval_s, 1.0 as share, interval_key
from {{ ref('int_interval') }}
where point is null
