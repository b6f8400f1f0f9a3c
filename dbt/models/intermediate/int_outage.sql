-- Time in which an LPAR was down, as far as something shows it: an IPL ended the gap between two of its intervals, or records
-- of other LPARs of its machine describe it as not active. A gap that nothing explains is missing data, and no outage.
with described as (
  select cpc, file_id, record_seq, interval_key, interval_start_utc, interval_s, lpar_name,
    bool_or(is_own) as is_own, sum(dispatch_s) > 0 as is_active
  from {{ ref('int_logical_processor') }}
  where interval_start_utc is not null
  group by all
),

following as (
  select n.smf_sid, n.interval_start_utc, n.interval_start_local, d.cpc, d.lpar_name,
    max({{ end_utc('n.interval_start_utc', 'n.interval_s') }}) over earlier as before_utc,
    last_value(d.cpc) over earlier as cpc_before
  from {{ ref('int_interval') }} n
  left join (select distinct interval_key, cpc, lpar_name from described where is_own) d using (interval_key)
  where n.interval_start_utc is not null
  window earlier as (
    partition by n.smf_sid order by n.interval_start_utc rows between unbounded preceding and 1 preceding)
),

gap as (
  select f.*, exists (
      from {{ ref('fct_gap') }} g
      where g.smf_sid = f.smf_sid and g.gap_end_local = f.interval_start_local and g.ipl_local is not null
    ) as is_ended_by_ipl
  from following f
  where interval_start_utc > before_utc + interval 1 second
),

-- Where another LPAR's record of the machine does not have it, or has it without any use of engines.
absent as (
  select g.smf_sid, g.interval_start_utc, g.interval_start_local,
    greatest(r.interval_start_utc, g.before_utc) as start_utc,
    least({{ end_utc('r.interval_start_utc', 'r.interval_s') }}, g.interval_start_utc) as end_utc
  from gap g
  join (select distinct cpc, file_id, record_seq, interval_start_utc, interval_s from described) r
    on r.cpc = g.cpc and g.cpc = g.cpc_before and r.interval_start_utc < g.interval_start_utc
    and {{ end_utc('r.interval_start_utc', 'r.interval_s') }} > g.before_utc
  left join described d
    on d.file_id = r.file_id and d.record_seq = r.record_seq and d.lpar_name = g.lpar_name and d.is_active
  where not g.is_ended_by_ipl and d.file_id is null
)

select smf_sid, before_utc as start_utc, interval_start_utc as end_utc, interval_start_local - interval_start_utc as clock_ahead
from gap
where is_ended_by_ipl
union all
-- What records of several LPARs show counts once.
select smf_sid, min(start_utc), max(end_utc), any_value(interval_start_local - interval_start_utc)
from (
  select *, sum(coalesce(is_apart, false)::int) over (partition by smf_sid, interval_start_utc order by start_utc, end_utc) as stretch
  from (
    select *, start_utc > max(end_utc) over (
        partition by smf_sid, interval_start_utc order by start_utc, end_utc rows between unbounded preceding and 1 preceding
      ) as is_apart
    from absent
  )
)
group by smf_sid, interval_start_utc, stretch
