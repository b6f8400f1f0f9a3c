-- Consumption of capacity by LPAR and by CPC. A record describes all LPARs of its CPC: those without records of
-- their own at the time are in its sum as that record describes them.
with recorded as (
  select
    r.interval_key, r.file_id, r.record_seq, r.smf_sid, n.system_id, n.interval_start_utc, n.interval_start_local,
    n.interval_s, n.source, n.cpc_serial,
    nullif(c.four_hour_average_msu, 0) as recorded_r4ha_msu,
    m.image_capacity_msu as capacity_msu,
    m.software_service_units_per_s,
    {{ metric('msu', {'cp_s': 'e.busy_s', 'seconds': 'n.interval_s',
      'service_units_per_s': 'm.software_service_units_per_s'}) }} as msu
  from {{ ref('int_record') }} r
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ source('staging', 'stg_smf70_1_control') }} c using (file_id, record_seq)
  join {{ ref('int_engine_interval') }} e on e.interval_key = r.interval_key and e.engine_type = 'CP'
  join {{ ref('int_cpc') }} m on m.interval_key = r.interval_key
  where r.record_type = '70.1'
),

-- What a partition data report prints of the partition it was made in, and of the others.
report as (
  select
    r.interval_key, n.smf_sid, n.system_id, n.interval_start_utc, n.interval_start_local, n.interval_s,
    'report' as source,
    nullif(trim(s.sequence_code), '') as cpc_serial,
    c.image_capacity_msu as capacity_msu,
    p.partition_name, p.partition_name = c.partition_name as is_own, p.msu_actual::double as msu
  from {{ ref('int_report') }} r
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ ref('stg_rmf_partition_config') }} c using (file_id, record_seq)
  join {{ ref('stg_rmf_partition') }} p using (file_id, record_seq)
  left join {{ ref('stg_rmf_cpu_system') }} s using (file_id, record_seq)
  where r.report = 'CPU' and p.engine_type = 'CP' and p.partition_name not in ('PHYSICAL', '*PHYSICAL*')
    and not exists (from recorded e where e.interval_key = r.interval_key)
),

lpar as (
  select * exclude (file_id, record_seq, software_service_units_per_s) from recorded
  union all by name
  select * exclude (partition_name, is_own) from report where is_own
),

described as (
  select r.interval_key, r.system_id, r.smf_sid, r.cpc_serial, r.interval_start_utc, r.interval_start_local, r.interval_s,
    r.source, p.lpar_name, p.is_own,
    case when p.is_own then r.msu else {{ metric('msu', {'cp_s': 'p.busy_s', 'seconds': 'r.interval_s',
      'service_units_per_s': 'r.software_service_units_per_s'}) }} end as msu
  from recorded r
  join (
    select file_id, record_seq, lpar_name, is_own, sum(busy_s) as busy_s
    from {{ ref('int_logical_processor') }}
    where engine_type = 'CP' and lpar_name <> 'PHYSICAL'
    group by all
  ) p using (file_id, record_seq)
  where r.cpc_serial is not null
  union all by name
  select interval_key, system_id, smf_sid, cpc_serial, interval_start_utc, interval_start_local, interval_s, source,
    partition_name as lpar_name, is_own, msu
  from report p
  where cpc_serial is not null
    and not exists (
      from recorded r
      where r.cpc_serial = p.cpc_serial
        and {{ overlap_s('r.interval_start_local', 'r.interval_s', 'p.interval_start_local', 'p.interval_s') }} > 0)
),

-- The CPC's time is cut wherever an interval of one of its LPARs begins or ends, to the minute; intervals of less
-- than five minutes to the second.
of_cpc as (
  select *, coalesce(interval_start_utc, interval_start_local) as started, interval_start_utc is null as is_local,
    case when interval_s < 300 then interval 1 second else interval 1 minute end as grid,
    time_bucket(grid, started + grid / 2) as begins,
    time_bucket(grid, {{ end_utc('started', 'interval_s') }} + grid / 2) as ends
  from described
),

slice as (
  select cpc_serial, is_local, moment as start,
    lead(moment) over (partition by cpc_serial, is_local order by moment) as next_start
  from (
    select cpc_serial, is_local, begins as moment from of_cpc
    union
    select cpc_serial, is_local, ends from of_cpc
  )
),

-- An LPAR in a slice is as its own record says, else as the others do, who say the same.
counted as (
  select s.start, s.next_start, l.*
  from of_cpc l
  join slice s
    on s.cpc_serial = l.cpc_serial and s.is_local = l.is_local and s.start >= l.begins and s.start < l.ends
  qualify row_number() over (
    partition by l.cpc_serial, l.is_local, s.start, l.lpar_name order by l.is_own desc, l.smf_sid, l.started) = 1
),

cpc as (
  select 'cpc' as scope, cpc_serial as name, min(interval_key) as interval_key, min(system_id) as system_id,
    case when not is_local then start end as interval_start_utc,
    min(start + (interval_start_local - started)) as interval_start_local,
    date_diff('microsecond', start, next_start) / 1e6 as interval_s, sum(msu) as msu, any_value(source) as source
  from counted
  group by cpc_serial, is_local, start, next_start
)

select 'lpar' as scope, smf_sid as name, * exclude (cpc_serial, smf_sid) from lpar
union all by name
select * from cpc
