-- Consumption of capacity by LPAR and by machine with its rolling four-hour average. An average takes the intervals
-- that start within the four hours before the end of its own; hours without records are not counted as idle.
with recorded as (
  select
    r.interval_key, r.smf_sid, n.system_id, n.interval_start_utc, n.interval_start_local, n.interval_s, n.source,
    nullif(trim(c.cpc_serial), '') as cpc_serial,
    nullif(c.four_hour_average_msu, 0) as recorded_four_hour_msu,
    m.image_capacity_msu as capacity_msu,
    {{ metric('msu', {'cp_s': 'e.busy_s', 'seconds': 'n.interval_s',
      'service_units_per_s': 'm.software_service_units_per_s'}) }} as msu
  from {{ ref('int_record') }} r
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ source('staging', 'stg_smf70_1_control') }} c using (file_id, record_seq)
  join {{ ref('int_engine_interval') }} e on e.interval_key = r.interval_key and e.engine_type = 'CP'
  join {{ ref('int_machine') }} m on m.interval_key = r.interval_key
  where r.record_type = '70.1'
),

-- What a partition data report prints of the partition it was made in.
reported as (
  select
    r.interval_key, n.smf_sid, n.system_id, n.interval_start_utc, n.interval_start_local, n.interval_s, 'report' as source,
    nullif(trim(s.sequence_code), '') as cpc_serial,
    c.image_capacity_msu as capacity_msu,
    p.msu_actual::double as msu
  from {{ ref('int_report') }} r
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ ref('stg_rmf_partition_config') }} c using (file_id, record_seq)
  join {{ ref('stg_rmf_partition') }} p using (file_id, record_seq)
  left join {{ ref('stg_rmf_cpu_system') }} s using (file_id, record_seq)
  where r.report = 'CPU' and p.partition_name = c.partition_name and p.engine_type = 'CP'
    and not exists (from recorded e where e.interval_key = r.interval_key)
),

lpar as (
  select * from recorded
  union all by name
  select * from reported
),

-- The machine's time is cut wherever an interval of one of its LPARs begins or ends, to the minute; intervals of less
-- than five minutes to the second.
of_machine as (
  select *, coalesce(interval_start_utc, interval_start_local) as started, interval_start_utc is null as is_local,
    case when interval_s < 300 then interval 1 second else interval 1 minute end as grid,
    time_bucket(grid, started + grid / 2) as begins,
    time_bucket(grid, {{ end_utc('started', 'interval_s') }} + grid / 2) as ends
  from lpar
  where cpc_serial is not null
),

slice as (
  select cpc_serial, is_local, moment as start,
    lead(moment) over (partition by cpc_serial, is_local order by moment) as next_start
  from (
    select cpc_serial, is_local, begins as moment from of_machine
    union
    select cpc_serial, is_local, ends from of_machine
  )
),

machine as (
  select 'cec' as scope, l.cpc_serial as name, min(l.interval_key) as interval_key, min(l.system_id) as system_id,
    case when not l.is_local then s.start end as interval_start_utc,
    min(s.start + (l.interval_start_local - l.started)) as interval_start_local,
    date_diff('microsecond', s.start, s.next_start) / 1e6 as interval_s, sum(l.msu) as msu, any_value(l.source) as source
  from of_machine l
  join slice s
    on s.cpc_serial = l.cpc_serial and s.is_local = l.is_local and s.start >= l.begins and s.start < l.ends
  group by l.cpc_serial, l.is_local, s.start, s.next_start
),

scope as (
  select 'lpar' as scope, smf_sid as name, * exclude (cpc_serial, smf_sid) from lpar
  union all by name
  select *, null::double as recorded_four_hour_msu, null::double as capacity_msu from machine
)

select
  scope::varchar as scope,
  name::varchar as name,
  interval_key::varchar as interval_key,
  system_id::varchar as system_id,
  interval_start_utc::timestamp as interval_start_utc,
  interval_start_local::timestamp as interval_start_local,
  interval_s::double as interval_s,
  msu::double as msu,
  {{ ratio('sum(msu * interval_s) over four_hours', 'sum(measured_s) over four_hours') }}::double as four_hour_average_msu,
  (sum(measured_s) over four_hours / 3600)::double as hours_averaged,
  recorded_four_hour_msu::double as recorded_four_hour_msu,
  capacity_msu::double as capacity_msu,
  source::varchar as source
from (select *, case when msu is not null then interval_s end as measured_s from scope)
window four_hours as (
  partition by scope, name, interval_start_utc is null order by coalesce(interval_start_utc, interval_start_local)
  range between interval '3 hours 59 minutes 59 seconds' preceding and current row
)
