-- TCP connections that ended and files that were transferred, by the address space at this end; a transfer is also a
-- connection, so choose one `traffic_kind`. Times are local, as the records give them.
with moved as (
  select 'connection' as traffic_kind, smf_sid, trim(resource_name) as name, written_local as ended_local,
    received_bytes::double as received_bytes, sent_bytes::double as sent_bytes, null::double as duration_us,
    round_trip_ms::double as round_trip_ms
  from {{ source('staging', 'stg_smf119_2_connection') }}
  union all by name
  select 'ftp client' as traffic_kind, smf_sid, trim(local_user_id) as name,
    ended_date + to_microseconds(ended_clock_us::bigint) as ended_local,
    case when command like 'RETR%' then coalesce(transferred_bytes, transferred_float_bytes) end::double as received_bytes,
    case when command not like 'RETR%' then coalesce(transferred_bytes, transferred_float_bytes) end::double as sent_bytes,
    duration_us::double as duration_us
  from {{ source('staging', 'stg_smf119_3_transfer') }}
  union all by name
  select 'ftp server' as traffic_kind, smf_sid, trim(server_user_id) as name,
    ended_date + to_microseconds(ended_clock_us::bigint) as ended_local,
    case when command like 'STO%' or command like 'APPE%' then coalesce(transferred_bytes, transferred_float_bytes) end::double
      as received_bytes,
    case when command like 'RETR%' then coalesce(transferred_bytes, transferred_float_bytes) end::double as sent_bytes,
    duration_us::double as duration_us
  from {{ source('staging', 'stg_smf119_70_transfer') }}
),

placed as (
  select m.* exclude (n), n.interval_key, coalesce(n.system_id, o.system_id) as system_id, n.interval_start_utc,
    n.interval_s, coalesce(n.interval_start_local, time_bucket(interval '15 minutes', m.ended_local)) as interval_start_local
  from {{ with_interval('moved', 'ended_local', ref('int_interval'), 'interval_start_local') }} m
  left join {{ ref('int_owner') }} o on o.smf_sid = m.smf_sid
),

traffic as (
  select traffic_kind, smf_sid, name, interval_key, interval_start_utc, interval_start_local,
    coalesce(interval_s, 900) as interval_s,
    coalesce(system_id, smf_sid) as system_id,
    count(*) as ended,
    sum(received_bytes) as received_bytes,
    sum(sent_bytes) as sent_bytes,
    sum(duration_us) as duration_us,
    avg(nullif(round_trip_ms, 0)) as round_trip_ms
  from placed
  group by all
),

job as (
  select interval_key, job_name, sum(cp_s) as cp_s from {{ ref('int_job_interval') }} group by all
)

select
  t.interval_key::varchar as interval_key,
  t.system_id::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.interval_start_utc::timestamp as interval_start_utc,
  t.interval_start_local::timestamp as interval_start_local,
  t.interval_s::double as interval_s,
  t.traffic_kind::varchar as traffic_kind,
  t.name::varchar as name,
  t.ended::bigint as ended,
  t.received_bytes::double as received_bytes,
  t.sent_bytes::double as sent_bytes,
  {{ ratio('(coalesce(t.received_bytes, 0) + coalesce(t.sent_bytes, 0)) / 1024', 't.interval_s') }}::double as kb_per_s,
  {{ ratio('(coalesce(t.received_bytes, 0) + coalesce(t.sent_bytes, 0)) / 1024', 't.duration_us / 1e6') }}::double
    as transfer_kb_per_s,
  t.round_trip_ms::double as round_trip_ms,
  (1e6 * {{ ratio('j.cp_s', '(coalesce(t.received_bytes, 0) + coalesce(t.sent_bytes, 0)) / 1024') }})::double as cpu_us_per_kb
from traffic t
left join job j on j.interval_key = t.interval_key and j.job_name = t.name and t.traffic_kind = 'connection'
