-- Frames of central storage, unreferenced interval counts and paging (SMF 71, and 78.2 for the nucleus), disks (74.1),
-- channel paths (73), gauges, CICS statistics, and the capacity used.
{%- set areas = {
  'available': 'available_frames', 'sqa': 'sqa_frames', 'lpa': 'lpa_frames', 'csa': 'csa_frames', 'lsqa': 'lsqa_frames',
  'regions': 'address_space_frames', 'fixed_sqa': 'sqa_fixed_frames', 'fixed_lpa': 'lpa_fixed_frames',
  'fixed_csa': 'csa_fixed_frames', 'fixed_lsqa': 'lsqa_fixed_frames', 'fixed_regions': 'address_space_fixed_frames',
  'fixed_below_16m': 'fixed_frames_below_16m', 'fixed_total': 'fixed_frames'} %}
with paging as (
  select k.system_id, k.point, k.condition, k.position, k.seconds, k.share, k.share * k.interval_s as weight_s, p.*
  from {{ first_written(source('staging', 'stg_smf71_paging')) }} p
  join {{ ref('int_point_share') }} k using (smf_sid, interval_start_utc, interval_s)
  where k.is_run
),

nucleus as (
  select k.system_id, k.point, k.condition, k.position, k.seconds, smf_sid, k.share * k.interval_s as weight_s,
    (c.nucleus_bytes + c.nucleus_above_bytes) / 4096.0 as frames
  from {{ first_written(source('staging', 'stg_smf78_2_common')) }} c
  join {{ ref('int_point_share') }} k using (smf_sid, interval_start_utc, interval_s)
  where k.is_run
),

level as (
  {% for area, column in areas.items() -%}
  select system_id, point, condition, position, seconds, smf_sid, weight_s, 'central {{ area }}' as subject, 'frames' as kind,
    {{ column }}_min as low, {{ column }}_avg as mean, {{ column }}_max as high
  from paging
  union all by name
  {% endfor -%}
  select system_id, point, condition, position, seconds, smf_sid, weight_s, 'uic' as subject, 'uic' as kind,
    uic_low_s as low, uic_avg_s as mean, uic_high_s as high
  from paging
  union all by name
  select system_id, point, condition, position, seconds, smf_sid, weight_s, 'central nucleus' as subject, 'frames' as kind,
    frames as low, frames as mean, frames as high
  from nucleus
  union all by name
  -- Frames of central storage: those RMF counts without the nucleus, and the nucleus.
  select system_id, point, condition, position, p.seconds, smf_sid, p.weight_s, 'central total' as subject,
    'frames' as kind, p.frames_total + n.frames as low, p.frames_total + n.frames as mean, p.frames_total + n.frames as high
  from paging p
  join (
    select system_id, point, condition, position, smf_sid, {{ ratio('sum(frames * weight_s)', 'sum(weight_s)') }} as frames
    from nucleus
    group by all
  ) n using (system_id, point, condition, position, smf_sid)
  union all by name
  select r.system_id, r.point, r.condition,
    row_number() over (
      partition by r.system_id, r.point, r.condition, g.smf_sid, g.gauge order by g.start_utc
    ) as position,
    1 as seconds, g.smf_sid, 1 as weight_s, g.gauge as subject, 'gauge' as kind, g.minimum as low, g.mean, g.maximum as high
  from {{ ref('stg_collector_gauge') }} g
  join {{ ref('int_run') }} r on {{ at_run('r', 'g.smf_sid', 'g.start_utc') }}
),

lpar_level as (
  select system_id, point, condition, position, seconds, smf_sid, subject, kind, min(low) as low,
    {{ ratio('sum(mean * weight_s)', 'sum(weight_s)') }} as mean, max(high) as high
  from level
  group by all
),

-- Frames of several LPARs add up; an age or a gauge of several is a mean of them, between their extremes.
together as (
  select system_id, point, condition, position, subject, kind, seconds,
    case kind when 'frames' then sum(low) else min(low) end as low,
    case kind when 'frames' then sum(mean) else avg(mean) end as mean,
    case kind when 'frames' then sum(high) else max(high) end as high
  from lpar_level
  group by system_id, point, condition, position, subject, kind, seconds
),

levels as (
  {% for kind in ['frames', 'uic', 'gauge'] -%}
  select system_id, point, condition, position, seconds, subject, unnest({{ measures_of(kind) }}, recursive := true)
  from together
  where kind = '{{ kind }}'
  {{ 'union all by name' if not loop.last }}
  {% endfor %}
),

pages as (
  select system_id, point, condition, position, seconds, '' as subject,
    unnest({{ measures_of('paging') }}, recursive := true)
  from paging
  group by system_id, point, condition, position, seconds
),

-- Every LPAR sees its own requests to a disk: they add up, seconds pass once.
device as (
  select k.system_id, k.point, k.condition, k.position, k.seconds,
    sum(k.share * d.start_subchannels) as ios,
    sum(k.share * d.measured_operations) as measured_ios,
    sum(k.share * (d.connect_us + d.pending_us + d.disconnect_us + coalesce(d.ios_queue_us, 0))) as io_us
  from {{ first_written(source('staging', 'stg_smf74_1_device'), ['subchannel_set', 'device_number']) }} d
  join {{ ref('int_point_share') }} k using (smf_sid, interval_start_utc, interval_s)
  where k.is_run
  group by all
),

transactions as (
  select k.system_id, k.point, k.condition, k.position, sum(k.share * w.transactions_ended) as ended
  from {{ ref('int_point_share') }} k
  join {{ ref('int_workload_interval') }} w using (interval_key)
  group by all
),

devices as (
  select system_id, point, condition, seconds, '' as subject, position,
    unnest([
      {{ measure('dasd_io_per_s') }},
      {{ measure('dasd_io_per_tran') }},
      {{ measure('dasd_response_ms') }}
    ], recursive := true)
  from device
  left join transactions using (system_id, point, condition, position)
),

channel as (
  select k.system_id, k.point, k.condition, k.position, k.seconds, k.share, trim(c.channel_type) as subject, c.*
  from {{ channel_paths(source('staging', 'stg_smf73_channel')) }} c
  join {{ ref('int_point_share') }} k using (smf_sid, interval_start_utc, interval_s)
  where k.is_run
),

channels as (
  select system_id, point, condition, seconds, subject, position,
    unnest({{ measures_of('channel') }}, recursive := true)
  from channel
  group by system_id, point, condition, subject, position, seconds
),

-- A listing names no system: where several LPARs were measured together it counts once.
run as (
  select system_id, point, condition, min(start_utc) as start_utc, max(end_utc) as end_utc, min(smf_sid) as smf_sid
  from {{ ref('int_run') }}
  group by all
),

collected as (
  select r.system_id, r.point, r.condition, s.applid, s.section, s.row_label, s.label, s.unit, s.collected_local,
    s.value_num, s.quantity
  from {{ ref('stg_cics_statistic') }} s
  join run r on true
  asof left join {{ ref('int_utc_offset') }} k on k.smf_sid = r.smf_sid and k.from_local <= s.collected_local
  where s.value_num is not null and s.section is not null
    and {{ during_run('r', 's.collected_local - to_seconds(coalesce(k.ahead_s, 0)::bigint)') }}
),

-- The collections of a region: what counts from its start is in the last one, and of a level or limit the last is in force.
of_region as (
  select system_id, point, condition, applid, section, row_label, label, quantity, any_value(unit) as unit,
    case
      when quantity in ('level', 'limit', 'cumulative') then arg_max(value_num, collected_local)
      when quantity = 'peak' then max(value_num)
      when quantity in ('percentage', 'rate', 'average') then avg(value_num)
      else sum(value_num)
    end as value
  from collected
  group by system_id, point, condition, applid, section, row_label, label, quantity
),

-- Regions add up; a limit or peak is that of the region with the highest.
statistic as (
  select system_id, point, condition, section, row_label, label, quantity, any_value(unit) as unit,
    case
      when quantity in ('limit', 'peak') then max(value)
      when quantity in ('percentage', 'average') then avg(value)
      else sum(value)
    end as value
  from of_region
  group by system_id, point, condition, section, row_label, label, quantity
),

-- Means and ratios follow from the totals of all collections; where nothing was delayed the mean is 0.
{%- set quotients = [
  ('Average Max TCB Pool Limit delay time', 'Total Max TCB Pool Limit delay time', 'Requests Delayed by Max TCB Pool Limit',
    1, 's', 1),
  ('Average Delay time for current delayed', 'Total Delay time for current delayed',
    'Current Requests Delayed by Max TCB Pool Limit', 1, 's', 1),
  ('Average MXT queueing time', 'Total MXT queueing time', 'Transactions Delayed by MXT', 1, 's', 1),
  ('TCB CPU/Disp Ratio', 'Total TCB CPU Time', 'Total TCB Dispatch Time', 100, 'pct', 1e-9)] %}
quotient as (
  {% for label, total, number, scale, unit, least in quotients -%}
  select t.system_id, t.point, t.condition, t.section, t.row_label, '{{ label }}' as label, '{{ unit }}' as unit,
    {{ scale }} * t.value / greatest(n.value, {{ least }}) as value
  from statistic t
  join statistic n
    on n.system_id = t.system_id and n.point = t.point and n.condition = t.condition and n.section = t.section
    and n.row_label is not distinct from t.row_label and n.label = '{{ number }}'
  where t.label = '{{ total }}'
  {{ 'union all by name' if not loop.last }}
  {% endfor %}
),

statistic_or_quotient as (
  select s.system_id, s.point, s.condition, s.section, s.row_label, s.label, s.unit, s.value
  from statistic s
  anti join quotient q
    on q.system_id = s.system_id and q.point = s.point and q.condition = s.condition and q.section = s.section
    and q.label = s.label and q.row_label is not distinct from s.row_label
  union all by name
  select * from quotient
),

statistics as (
  select * exclude (measured_unit) replace (coalesce(measured_unit, unit) as unit)
  from (
    select system_id, point, condition, 1 as position, null::double as seconds,
      section || ': ' || coalesce(row_label || ': ', '') || label as subject, unit as measured_unit,
      unnest({{ measures_of('statistic') }}, recursive := true)
    from statistic_or_quotient
  )
),

-- Each LPAR uses its own part of a rating; what they use adds up.
used as (
  select k.system_id, k.point, k.condition, k.position, k.seconds, c.rating,
    sum({{ ratio('e.busy_s', 'e.online_s') }} * c.capacity * k.share * k.interval_s) as capacity_used_s
  from {{ ref('int_point_share') }} k
  join {{ ref('int_engine_interval') }} e on e.interval_key = k.interval_key and e.engine_type = 'CP'
  join (select distinct smf_sid, rating, capacity from {{ ref('stg_collector_capacity') }}) c on c.smf_sid = k.smf_sid
  group by all
),

capacity as (
  select system_id, point, condition, position, seconds, rating as subject,
    unnest({{ measures_of('rating') }}, recursive := true)
  from used
  left join transactions using (system_id, point, condition, position)
)

select system_id, point, condition, true as is_run, position, seconds, null::varchar as workload, subject, metric, unit,
  aggregation, scale, numerator, denominator
from (
  select * from levels
  union all by name
  select * from pages
  union all by name
  select * from devices
  union all by name
  select * from channels
  union all by name
  select * from statistics
  union all by name
  -- A rating has a unit of its own.
  select * replace (lower(subject) || case metric when 'capacity_per_tps' then ' s' else '' end as unit) from capacity
)
where numerator is not null
