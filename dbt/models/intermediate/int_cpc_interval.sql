-- Every LPAR of a CPC over the same intervals. A record of 70.1 describes all LPARs of its CPC, so records of several
-- LPARs describe the same time several times: the intervals are those of the LPAR whose records cover most of the hour, and
-- where it has none, those of the next. An LPAR's own record of the same interval is preferred; an LPAR that such a record
-- does not describe is taken from its own records, by the seconds they have in common.
with described as (
  select
    cpc, file_id, record_seq, smf_sid, interval_key, interval_start_utc, interval_start_local, interval_s, lpar_name,
    is_own, engine_type,
    max(physical_engines) as physical_engines,
    count(*) filter (where online_s > 0) as logical_processors,
    sum(online_s) as online_s,
    sum(dispatch_s) as dispatch_s,
    sum(effective_dispatch_s) as effective_dispatch_s,
    sum(wait_s) as wait_s,
    sum(online_s) filter (where is_dedicated) as dedicated_online_s,
    max(weight) filter (where online_s > 0) as weight,
    bool_or(is_wait_completion) as is_wait_completion,
    bool_or(is_initially_capped) as is_initially_capped,
    -- The samples are those of all processors of the type together, which each of them repeats.
    100 * max(wlm_capping_fraction) as wlm_capping_pct,
    100 * max(capped_fraction) as capped_pct,
    bool_or(is_ziip_boost) as is_ziip_boost,
    bool_or(is_speed_boost) as is_speed_boost,
    max(cap_engines) as cap_engines,
    max(group_cap_engines) as group_cap_engines,
    max(defined_capacity_msu) as defined_capacity_msu,
    max(capacity_group_name) as capacity_group_name,
    max(capacity_group_limit_msu) as capacity_group_limit_msu,
    count(*) filter (where online_s > 0 and polarisation_code = 3) as vertical_high_processors,
    count(*) filter (where online_s > 0 and polarisation_code = 2) as vertical_medium_processors,
    count(*) filter (where online_s > 0 and polarisation_code = 1) as vertical_low_processors
  from {{ ref('int_logical_processor') }}
  where interval_start_utc is not null and interval_s > 0
  group by all
),

record as (
  select cpc, file_id, record_seq, smf_sid, interval_key, interval_start_utc, interval_start_local, interval_s,
    sum(interval_s * count(*)) over (partition by cpc, smf_sid, date_trunc('hour', interval_start_utc)) as coverage
  from described
  group by cpc, file_id, record_seq, smf_sid, interval_key, interval_start_utc, interval_start_local, interval_s
),

by_hour as (
  select *, unnest({{ hours_touched('interval_start_utc', 'interval_s') }}) as hour from record
),

meeting as (
  select a.file_id, a.record_seq, b.file_id as other_file_id, b.record_seq as other_record_seq,
    (b.coverage, b.smf_sid) > (a.coverage, a.smf_sid) as is_other_better,
    {{ overlap_s('a.interval_start_utc', 'a.interval_s', 'b.interval_start_utc', 'b.interval_s') }} as common_s,
    common_s / b.interval_s as share,
    abs(date_diff('microsecond', a.interval_start_utc, b.interval_start_utc)) <= 1000000
      and abs(a.interval_s - b.interval_s) <= 1 as is_same_interval
  from by_hour a
  join by_hour b
    on a.cpc = b.cpc and a.hour = b.hour and a.smf_sid <> b.smf_sid
    and {{ first_common_hour('a.hour', 'a.interval_start_utc', 'b.interval_start_utc') }}
  where common_s > 0
),

measured as (
  select r.* from record r
  where not exists (
    from meeting m where m.file_id = r.file_id and m.record_seq = r.record_seq and m.is_other_better and m.common_s > 1)
),

source as (
  select r.file_id as measured_file_id, r.record_seq as measured_record_seq, t.*, r.interval_s as covered_s, 1.0 as share,
    2 as preference
  from measured r
  join described t on t.file_id = r.file_id and t.record_seq = r.record_seq
  union all
  select r.file_id, r.record_seq, t.*,
    case when m.is_same_interval then r.interval_s else m.common_s end,
    case when m.is_same_interval then 1.0 else m.share end,
    case when m.is_same_interval then 1 else 3 end
  from measured r
  join meeting m on m.file_id = r.file_id and m.record_seq = r.record_seq
  join described t on t.file_id = m.other_file_id and t.record_seq = m.other_record_seq and t.is_own
),

chosen as (
  select * from source
  qualify preference = min(preference) over (partition by measured_file_id, measured_record_seq, lpar_name)
),

owner as (
  select cpc, lpar_name, hour, arg_max(smf_sid, interval_start_utc) as smf_sid
  from (
    select cpc, lpar_name, smf_sid, interval_start_utc,
      unnest([date_trunc('hour', interval_start_utc) + to_hours(h) for h in [-3, -2, -1, 0, 1, 2, 3]]) as hour
    from described
    where is_own
  )
  group by cpc, lpar_name, hour
),

lpar as (
  select
    measured_file_id, measured_record_seq, lpar_name, engine_type,
    max(interval_key) filter (where is_own and preference < 3) as interval_key,
    min(smf_sid) as recorded_by,
    sum(covered_s) as covered_s,
    max(physical_engines) as physical_engines,
    max(logical_processors) as logical_processors,
    {% for column in ['online_s', 'dispatch_s', 'effective_dispatch_s', 'wait_s', 'dedicated_online_s'] -%}
    sum(share * {{ column }}) as {{ column }},
    {% endfor -%}
    {% for column in ['weight', 'wlm_capping_pct', 'capped_pct'] -%}
    {{ ratio('sum(covered_s * ' ~ column ~ ')', 'sum(covered_s) filter (where ' ~ column ~ ' is not null)') }} as {{ column }},
    {% endfor -%}
    {% for column in ['is_wait_completion', 'is_initially_capped', 'is_ziip_boost', 'is_speed_boost'] -%}
    bool_or({{ column }}) as {{ column }},
    {% endfor -%}
    {% for column in ['cap_engines', 'group_cap_engines', 'defined_capacity_msu', 'capacity_group_name',
      'capacity_group_limit_msu', 'vertical_high_processors', 'vertical_medium_processors', 'vertical_low_processors'] -%}
    max({{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor -%}
  from chosen
  group by measured_file_id, measured_record_seq, lpar_name, engine_type
)

select
  r.cpc, r.interval_start_utc, r.interval_start_local, r.interval_s,
  o.smf_sid,
  l.* exclude (measured_file_id, measured_record_seq, physical_engines, dedicated_online_s),
  coalesce(l.dedicated_online_s, 0) > 0 as is_dedicated,
  max(l.physical_engines) over pool as physical_engines,
  {{ ratio('coalesce(sum(l.dedicated_online_s) over pool, 0)', 'r.interval_s') }} as dedicated_engines
from lpar l
join measured r on r.file_id = l.measured_file_id and r.record_seq = l.measured_record_seq
left join owner o
  on o.cpc = r.cpc and o.lpar_name = l.lpar_name and o.hour = date_trunc('hour', r.interval_start_utc)
window pool as (partition by l.measured_file_id, l.measured_record_seq, l.engine_type)
