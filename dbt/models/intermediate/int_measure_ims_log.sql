-- How long messages were sent and arrived, from IMS logs: between the first and the last record of a kind in the run.
select
  system_id, point, condition, true as is_run, 1 as position, null::double as seconds, null::varchar as workload,
  '' as subject,
  unnest({{ measures_of('ims_log') }}, recursive := true)
from (
  select r.system_id, r.point, r.condition,
    count(*) filter (where e.event = 'output') as sent,
    count(*) filter (where e.event = 'arrival') as received,
    date_diff('microsecond', min(e.event_utc) filter (where e.event = 'output'),
      max(e.event_utc) filter (where e.event = 'output')) / 1e6 as sent_s,
    date_diff('microsecond', min(e.event_utc) filter (where e.event = 'arrival'),
      max(e.event_utc) filter (where e.event = 'arrival')) / 1e6 as received_s
  from {{ ref('stg_ims_log_event') }} e
  -- Several LPARs of a point have one log between them here: it counts once.
  join (
    select system_id, point, condition, min(start_utc) as start_utc, max(end_utc) as end_utc
    from {{ ref('int_run') }}
    group by all
  ) r on {{ during_run('r', 'e.event_utc') }}
  group by r.system_id, r.point, r.condition
)
