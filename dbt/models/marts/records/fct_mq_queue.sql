{%- set verbs = ['open', 'close', 'get', 'put', 'put1', 'inquire', 'set'] -%}
-- Accounting of threads by queue (116.1, continued in 116.2), of the hour in which the record was written. A channel is
-- named where the channel initiator worked for it.
with used as (
  {% for queue, standard, thread in [
      ('stg_smf116_1_queue', 'stg_smf116_1_standard', 'stg_smf116_1_thread'),
      ('stg_smf116_2_queue', 'stg_smf116_2_standard', 'stg_smf116_2_thread')] -%}
  select
    q.smf_sid, date_trunc('hour', q.written_local) as hour_local, trim(s.queue_manager) as queue_manager,
    t.connection_type, trim(t.connection_name) as connection_name, nullif(trim(t.channel_name), '') as channel_name,
    coalesce(nullif(trim(q.queue_name), ''), trim(q.object_name)) as queue_name,
    q.puts + q.put1s as puts, q.gets, q.valid_puts, q.valid_gets, q.gets_failed, q.put_bytes, q.get_bytes, q.depth_max,
    q.puts_persistent + q.put1s_persistent as puts_persistent,
    q.put_elapsed_us + q.put1_elapsed_us as put_us, q.get_elapsed_us as get_us,
    {% for verb in verbs -%}coalesce(q.{{ verb }}_cpu_us, 0){{ ' + ' if not loop.last }}{% endfor %} as cpu_us,
    q.time_on_queue_total_us, q.gets_destructive_valid, q.get_page_set_reads
  from {{ source('staging', queue) }} q
  join {{ source('staging', standard) }} s using (file_id, record_seq)
  left join {{ source('staging', thread) }} t using (file_id, record_seq)
  {{ 'union all by name' if not loop.last }}
  {% endfor -%}
),

together as (
  select smf_sid, hour_local, queue_manager, connection_type, connection_name, channel_name, queue_name,
    max(depth_max) as depth_max,
    {% for column in ['puts', 'gets', 'valid_puts', 'valid_gets', 'gets_failed', 'put_bytes', 'get_bytes',
        'puts_persistent', 'put_us', 'get_us', 'cpu_us', 'time_on_queue_total_us', 'gets_destructive_valid',
        'get_page_set_reads'] -%}
    sum({{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from used
  group by all
)

select
  coalesce(o.system_id, t.smf_sid)::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.hour_local::timestamp as hour_local,
  t.queue_manager::varchar as queue_manager,
  (case t.connection_type when 1 then 'CICS' when 2 then 'batch or TSO' when 3 then 'IMS control'
    when 4 then 'IMS region' when 5 then 'command server' when 6 then 'channel' when 7 then 'RRS' else t.connection_type::varchar end)::varchar
    as connection_kind,
  t.connection_name::varchar as connection_name,
  t.channel_name::varchar as channel_name,
  t.queue_name::varchar as queue_name,
  t.valid_puts::double as messages_put,
  t.valid_gets::double as messages_got,
  t.gets_failed::double as gets_failed,
  t.put_bytes::double as put_bytes,
  t.get_bytes::double as get_bytes,
  t.depth_max::double as depth_max,
  t.get_page_set_reads::double as page_set_reads,
  (t.cpu_us / 1e6)::double as cpu_s,
  {{ metric('mq_cpu_us_per_message', {'cpu_us': 't.cpu_us', 'messages': 't.valid_puts + t.valid_gets'}) }}
    as mq_cpu_us_per_message,
  {{ metric('mq_put_us', {'put_us': 't.put_us', 'puts': 't.puts'}) }} as mq_put_us,
  {{ metric('mq_get_us', {'get_us': 't.get_us', 'gets': 't.gets'}) }} as mq_get_us,
  {{ metric('mq_time_on_queue_ms', {'on_queue_us': 't.time_on_queue_total_us', 'gets': 't.gets_destructive_valid'}) }}
    as mq_time_on_queue_ms
from together t
left join {{ ref('int_owner') }} o using (smf_sid)
