-- How much storage does a session take?
-- Total at measured points whose condition or name gives the number of sessions or clients. `kb_per_added_session` is
-- the slope from the point before, without the storage that needs no session.
-- needs: measured points, which a runs file names (docs/loading.md)
with used as (
  select system_id, value as kb,
    try_cast(coalesce(nullif(regexp_extract(condition, '(?:sessions|clients)=([0-9]+)', 1), ''), point) as integer) as sessions
  from marts.fct_point_metric
  where is_run and metric = 'storage_kb' and subject = 'total'
)
select system_id, sessions, round(kb, 0) as kb, round(kb / sessions, 2) as kb_per_session,
  round((kb - lag(kb) over by_sessions) / (sessions - lag(sessions) over by_sessions), 2) as kb_per_added_session
from used
where sessions > 0
window by_sessions as (partition by system_id order by sessions)
qualify count(*) over (partition by system_id) > 1
order by system_id, sessions
