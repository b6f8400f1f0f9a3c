-- Batch steps (SMF 30 subtype 4) and FTP transfers (SMF 119 subtype 70). Their records carry local time alone; what the
-- RMF records of the same system say of its offset makes UTC of it, and none is taken where there are none.
with clock as (
  select smf_sid, median(date_diff('second', interval_start_utc, interval_start_local)) as offset_s
  from {{ ref('int_interval') }}
  where interval_start_utc is not null and interval_start_local is not null
  group by smf_sid
),

step as (
  select
    h.smf_sid,
    i.step_start_date + to_microseconds(i.step_start_clock_us) as start_local,
    h.written_local as end_local,
    coalesce(nullif(io.excps, 0), io.excps_4byte) as excps,
    {{ address_space_cp_s('c') }} as cpu_s
  from {{ source('staging', 'stg_smf30_header') }} h
  join {{ source('staging', 'stg_smf30_identification') }} i using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf30_io') }} io using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf30_cpu') }} c using (file_id, record_seq)
  where h.subtype = 4
),

steps as (
  select r.system_id, r.point, r.condition, null::double as seconds,
    unnest({{ measures_of('step') }}, recursive := true)
  from step s
  left join clock k using (smf_sid)
  join {{ ref('int_run') }} r
    on {{ at_run('r', 's.smf_sid', 's.start_local - to_seconds(coalesce(k.offset_s, 0)::bigint)') }}
  group by r.system_id, r.point, r.condition
),

transfers as (
  select r.system_id, r.point, r.condition, date_diff('microsecond', r.start_utc, r.end_utc) / 1e6 as seconds,
    unnest({{ measures_of('transfer') }}, recursive := true)
  from {{ source('staging', 'stg_smf119_70_transfer') }} t
  left join clock k using (smf_sid)
  join {{ ref('int_run') }} r
    on {{ at_run('r', 't.smf_sid',
                 't.ended_date + to_microseconds(t.ended_clock_us) - to_seconds(coalesce(k.offset_s, 0)::bigint)') }}
  group by r.system_id, r.point, r.condition, r.start_utc, r.end_utc
)

select system_id, point, condition, true as is_run, 1 as position, seconds, null::varchar as workload, '' as subject,
  metric, unit, aggregation, scale, numerator, denominator
from (
  select * from steps
  union all by name
  select * from transfers
)
