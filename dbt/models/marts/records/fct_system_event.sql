with events as (
  select smf_sid, 'IPL' as event, written_local as start_local, written_local as end_local,
    null::bigint as records_lost, trim(os_level) as os_level
  from {{ source('staging', 'stg_smf0_header') }}
  union all
  select smf_sid, 'records lost', loss_start_date + to_microseconds(loss_start_clock_us::bigint), written_local,
    case when is_count_too_large then null else records_lost::bigint end, null
  from {{ source('staging', 'stg_smf7_header') }}
)

select
  coalesce(o.system_id, e.smf_sid)::varchar as system_id,
  e.smf_sid::varchar as smf_sid,
  e.event::varchar as event,
  e.start_local::timestamp as event_start_local,
  e.end_local::timestamp as event_end_local,
  e.records_lost::bigint as records_lost,
  e.os_level::varchar as os_level
from events e
left join {{ ref('int_owner') }} o using (smf_sid)
