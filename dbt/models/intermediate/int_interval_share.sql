{%- set views = ['stg_smf74_1_device', 'stg_smf74_4_request', 'stg_smf78_2_private'] -%}
-- How much of each interval of other record types falls into which interval of the same LPAR's CPU and workload records,
-- by seconds: what was counted adds up to what it was, in whatever rhythm it was recorded. What no such interval covers
-- stays an interval of its own; a twentieth of an interval is taken for a difference of clocks and counts with the rest.
with recorded as (
  {%- for view in views %}
  select distinct smf_sid, interval_start_utc, interval_start_local, interval_s from {{ source('staging', view) }}
  {{ 'union' if not loop.last }}
  {%- endfor %}
),

recorded_hour as (
  select *, unnest({{ hours_touched('interval_start_utc', 'interval_s') }}) as hour from recorded
),

interval_hour as (
  select *, unnest({{ hours_touched('interval_start_utc', 'interval_s') }}) as hour from {{ ref('int_interval') }}
),

met as (
  select r.smf_sid, r.interval_start_utc, r.interval_start_local, r.interval_s, n.interval_key,
    {{ overlap_s('r.interval_start_utc', 'r.interval_s', 'n.interval_start_utc', 'n.interval_s') }} as common_s
  from recorded_hour r
  join interval_hour n
    on n.smf_sid = r.smf_sid and n.hour = r.hour
    and {{ first_common_hour('r.hour', 'r.interval_start_utc', 'n.interval_start_utc') }}
  where common_s >= 0.05 * least(r.interval_s, n.interval_s)
),

covered as (
  select *, case when covered_s < 0.95 * interval_s then interval_s else covered_s end as whole_s
  from (select smf_sid, interval_start_utc, interval_s, sum(common_s) as covered_s from met group by all)
),

{{ run_of_interval('recorded') }}

select m.smf_sid, m.interval_start_local as recorded_start_local, m.interval_start_utc as recorded_start_utc,
  m.interval_s as recorded_s, m.common_s / c.whole_s as share,
  n.interval_key, n.system_id, n.point, n.condition, n.interval_start_utc, n.interval_start_local
from met m
join covered c using (smf_sid, interval_start_utc, interval_s)
join {{ ref('int_interval') }} n using (interval_key)
union all by name
select r.smf_sid, r.interval_start_local as recorded_start_local, r.interval_start_utc as recorded_start_utc,
  r.interval_s as recorded_s,
  1 - coalesce(c.covered_s / c.whole_s, 0) as share,
  {{ interval_key('r.smf_sid', 'r.interval_start_utc', 'r.interval_start_local') }} as interval_key,
  coalesce(w.system_id, o.system_id, r.smf_sid) as system_id, w.point, w.condition, r.interval_start_utc,
  r.interval_start_local
from recorded r
left join covered c using (smf_sid, interval_start_utc, interval_s)
left join run_of_interval w using (smf_sid, interval_start_utc)
left join {{ ref('int_owner') }} o using (smf_sid)
where c.whole_s is null or c.covered_s < c.whole_s
