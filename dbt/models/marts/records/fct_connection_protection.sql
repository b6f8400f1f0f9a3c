-- Connections by how they were protected (zERT detail, 119.11), counted when they end: events of kind 3, and of kind 4
-- where they were short. A connection with several protections counts as the first of TLS, SSH and IPSec.
with connection as (
  select
    c.smf_sid, date_trunc('hour', c.written_local) as hour_local, trim(i.stack_name) as stack_name,
    trim(c.job_name_socket) as job_name, c.local_port,
    case when c.security_protocol_flags & 128 > 0 then 'TLS' when c.security_protocol_flags & 64 > 0 then 'SSH'
      when c.security_protocol_flags & 32 > 0 then 'IPSec' else 'none' end as protection,
    case t.protocol_version when 512 then 'SSLv2' when 768 then 'SSLv3' when 769 then 'TLSv1.0' when 770 then 'TLSv1.1'
      when 771 then 'TLSv1.2' when 772 then 'TLSv1.3' end as tls_version,
    c.in_since_start_bytes as received_bytes, c.out_since_start_bytes as sent_bytes
  from {{ source('staging', 'stg_smf119_11_connection') }} c
  left join {{ source('staging', 'stg_smf119_11_identification') }} i using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf119_11_tls') }} t using (file_id, record_seq)
  where c.event_type in (3, 4)
)

select
  coalesce(min(o.system_id), c.smf_sid)::varchar as system_id,
  c.smf_sid::varchar as smf_sid,
  c.hour_local::timestamp as hour_local,
  c.stack_name::varchar as stack_name,
  c.job_name::varchar as job_name,
  c.local_port::integer as local_port,
  c.protection::varchar as protection,
  c.tls_version::varchar as tls_version,
  count(*)::bigint as connections,
  sum(c.received_bytes)::double as received_bytes,
  sum(c.sent_bytes)::double as sent_bytes
from connection c
left join {{ ref('int_owner') }} o using (smf_sid)
group by c.smf_sid, c.hour_local, c.stack_name, c.job_name, c.local_port, c.protection, c.tls_version
