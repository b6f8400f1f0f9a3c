-- Requests of WebSphere (120.9) and Liberty (120.11), with their CPU, and of z/OS Connect (123.1), with the time of what
-- they call where their version tells it.
with classified as (
  select file_id, record_seq, coalesce(
      split_part(max(trim(classification_data)) filter (where type_data = 6), '?', 1),
      {% for kind in [1, 11, 9] -%}
      max(trim(classification_data)) filter (where type_data = {{ kind }}){{ ',' if not loop.last }}
      {% endfor -%}
    ) as resource
  from {{ source('staging', 'stg_smf120_9_classification') }}
  group by file_id, record_seq
),

request as (
  select
    'WebSphere' as server_kind, r.smf_sid, date_trunc('hour', r.written_local) as hour_local,
    trim(s.controller_job_name) as job_name, c.resource,
    date_diff('microsecond', z.request_received_utc, z.response_sent_utc) as elapsed_us,
    date_diff('microsecond', z.request_queued_utc, z.dispatch_begins_utc) as queue_us,
    r.cpu_time_dispatch_tcb_us as cpu_us, r.cpu_time_dispatch_tcb_us - z.cpu_time_off_standard_processors_us as cp_us
  from {{ source('staging', 'stg_smf120_9_request') }} r
  left join {{ source('staging', 'stg_smf120_9_zos_request') }} z using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf120_9_zos_server') }} s using (file_id, record_seq)
  left join classified c using (file_id, record_seq)
  union all by name
  select
    'Liberty' as server_kind, r.smf_sid, date_trunc('hour', r.written_local) as hour_local,
    trim(s.job_name) as job_name, split_part(r.uri, '?', 1) as resource, null::varchar as method,
    date_diff('microsecond', r.started_utc, r.ended_utc) as elapsed_us, r.cpu_end_us - r.cpu_start_us as cpu_us,
    r.cp_end_us - r.cp_start_us as cp_us, null::double as backend_us, null::boolean as is_error
  from {{ source('staging', 'stg_smf120_11_request') }} r
  left join {{ source('staging', 'stg_smf120_11_server') }} s using (file_id, record_seq)
  union all by name
  select
    'z/OS Connect' as server_kind, 2 as record_version, r.smf_sid, date_trunc('hour', r.written_local) as hour_local,
    trim(s.job_name) as job_name, coalesce(nullif(trim(r.api_name), ''), trim(r.service_name)) as resource,
    trim(r.http_method) as method, date_diff('microsecond', r.entry_utc, r.exit_utc) as elapsed_us,
    date_diff('microsecond', r.backend_sent_utc, r.backend_received_utc)::double as backend_us,
    r.http_status >= 400 as is_error
  from {{ source('staging', 'stg_smf123_1_request') }} r
  left join {{ source('staging', 'stg_smf123_1_server') }} s using (file_id, record_seq)
  union all by name
  select
    'z/OS Connect' as server_kind, 1 as record_version, r.smf_sid, date_trunc('hour', r.written_local) as hour_local,
    trim(s.job_name) as job_name, coalesce(nullif(trim(r.service_name), ''), split_part(r.target_uri, '?', 1)) as resource,
    trim(r.http_method) as method, date_diff('microsecond', r.entry_utc, r.exit_utc) as elapsed_us
  from {{ source('staging', 'stg_smf123_1_v1_request') }} r
  left join {{ source('staging', 'stg_smf123_1_v1_server') }} s using (file_id, record_seq)
),

together as (
  select smf_sid, hour_local, server_kind, record_version, job_name, resource, method, count(*) as requests,
    sum(elapsed_us) as elapsed_us, max(elapsed_us) as elapsed_max_us, sum(cpu_us) as cpu_us, sum(cp_us) as cp_us,
    sum(queue_us) as queue_us, sum(backend_us) as backend_us, count(backend_us) as backend_requests, count(is_error) as judged,
    count(*) filter (where is_error) as errors
  from request
  group by all
)

select
  coalesce(o.system_id, t.smf_sid)::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.hour_local::timestamp as hour_local,
  t.server_kind::varchar as server_kind,
  t.record_version::integer as record_version,
  t.job_name::varchar as job_name,
  t.resource::varchar as resource,
  t.method::varchar as method,
  t.requests::bigint as requests,
  t.backend_requests::bigint as backend_requests,
  (t.elapsed_max_us / 1e3)::double as response_max_ms,
  (t.cpu_us / 1e6)::double as cpu_s,
  {{ metric('web_response_ms', {'requests': 't.requests'}) }} as web_response_ms,
  {{ metric('web_queue_ms', {'requests': 't.requests'}) }} as web_queue_ms,
  {{ metric('web_backend_ms') }} as web_backend_ms,
  {{ metric('web_cpu_us_per_request') }} as web_cpu_us_per_request,
  {{ metric('web_offload_pct') }} as web_offload_pct,
  {{ metric('web_error_pct') }} as web_error_pct
from together t
left join {{ ref('int_owner') }} o using (smf_sid)
