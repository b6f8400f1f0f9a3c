-- Which connections are not protected, or by an old version of TLS?
-- Source is zERT: connections that ended (SMF 119.11), and those of sessions (119.12). Both may include the same
-- connection. The port of a client is that of the server.
select system_id, record_kind, job_name, coalesce(local_port, remote_port) as port,
  case when remote_port is null then 'this end' else 'server' end as port_of, protection, tls_version,
  sum(connections)::bigint as connections, round(sum(received_bytes + sent_bytes) / 1048576, 1) as mb
from marts.fct_connection_protection
where protection = 'none' or tls_version not in ('TLSv1.2', 'TLSv1.3')
group by all
order by mb desc nulls last, connections desc, job_name, record_kind
limit 12
