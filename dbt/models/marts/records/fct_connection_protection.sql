-- Connections by how they were protected (zERT). Detail records (119.11) are counted when a connection ends: events of kind
-- 3, and of kind 4 where it was short. Summary records (119.12) count the connections of a session since it was first seen;
-- an interval has the difference of its end and its start. A connection with several protections counts as the first of
-- TLS, SSH and IPSec.
{%- set protection %}
    case when c.security_protocol_flags & 128 > 0 then 'TLS' when c.security_protocol_flags & 64 > 0 then 'SSH'
      when c.security_protocol_flags & 32 > 0 then 'IPSec' else 'none' end as protection,
    case t.protocol_version when 512 then 'SSLv2' when 768 then 'SSLv3' when 769 then 'TLSv1.0' when 770 then 'TLSv1.1'
      when 771 then 'TLSv1.2' when 772 then 'TLSv1.3' end as tls_version
{%- endset %}
{%- set is_server = 'c.connection_flags & 64 > 0' %}
with connection as (
  select
    'detail' as record_kind, c.smf_sid, date_trunc('hour', c.written_local) as hour_local, trim(i.stack_name) as stack_name,
    trim(c.job_name_socket) as job_name, c.local_port, null::integer as remote_port,{{ protection }},
    1 as connections, c.in_since_start_bytes as received_bytes, c.out_since_start_bytes as sent_bytes
  from {{ source('staging', 'stg_smf119_11_connection') }} c
  left join {{ source('staging', 'stg_smf119_11_identification') }} i using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf119_11_tls') }} t using (file_id, record_seq)
  where c.event_type in (3, 4)
  union all
  select
    'summary' as record_kind, c.smf_sid, date_trunc('hour', c.written_local) as hour_local, trim(i.stack_name) as stack_name,
    trim(c.job_name_socket) as job_name, case when {{ is_server }} then c.first_server_port end as local_port,
    case when not {{ is_server }} then c.first_server_port end as remote_port,{{ protection }},
    c.connections_session_at_end::bigint - c.connections_session_at_start as connections,
    c.in_at_end_bytes::hugeint - c.in_at_start_bytes as received_bytes,
    c.out_at_end_bytes::hugeint - c.out_at_start_bytes as sent_bytes
  from {{ source('staging', 'stg_smf119_12_session') }} c
  left join {{ source('staging', 'stg_smf119_12_identification') }} i using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf119_12_tls') }} t using (file_id, record_seq)
  where c.event_type = 1
)

select
  coalesce(min(o.system_id), c.smf_sid)::varchar as system_id,
  c.smf_sid::varchar as smf_sid,
  c.hour_local::timestamp as hour_local,
  c.record_kind::varchar as record_kind,
  c.stack_name::varchar as stack_name,
  c.job_name::varchar as job_name,
  c.local_port::integer as local_port,
  c.remote_port::integer as remote_port,
  c.protection::varchar as protection,
  c.tls_version::varchar as tls_version,
  sum(c.connections)::bigint as connections,
  sum(c.received_bytes)::double as received_bytes,
  sum(c.sent_bytes)::double as sent_bytes
from connection c
left join {{ ref('int_owner') }} o using (smf_sid)
group by c.smf_sid, c.hour_local, c.record_kind, c.stack_name, c.job_name, c.local_port, c.remote_port, c.protection,
  c.tls_version
