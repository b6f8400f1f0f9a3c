-- The system that an SMF system identifier stands for outside measured runs: the only one a groups file names it for, or,
-- where all its intervals are of measured runs, the only one that was measured on it.
with named as {{ named_system() }},

measured as (
  select smf_sid, min(system_id) as system_id
  from {{ ref('int_run') }} r
  where not exists (from named n where n.smf_sid = r.smf_sid)
    and not exists (from {{ ref('int_interval') }} n where n.smf_sid = r.smf_sid and n.point is null)
  group by smf_sid
  having count(distinct system_id) = 1
)

select * from named
union all
select * from measured
