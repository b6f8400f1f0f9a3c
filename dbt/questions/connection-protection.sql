-- Which connections are not protected, or by an old version of TLS?
-- zERT detail records (SMF 119.11), connections that ended.
select system_id, job_name, local_port, protection, tls_version, sum(connections)::bigint as connections,
  round(sum(received_bytes + sent_bytes) / 1048576, 1) as mb
from marts.fct_connection_protection
where protection = 'none' or tls_version not in ('TLSv1.2', 'TLSv1.3')
group by system_id, job_name, local_port, protection, tls_version
order by mb desc nulls last, connections desc, job_name
limit 12
