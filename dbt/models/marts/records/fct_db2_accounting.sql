-- Class 1 is the thread's whole life, class 2 its time in Db2. What is not recorded of a class is NULL.
with thread as (
  select
    a.smf_sid, date_trunc('hour', a.written_local) as hour_local, trim(p.db2_subsystem) as db2_subsystem,
    trim(c.connection_name) as connection_name, trim(c.plan_name) as plan_name, trim(c.authorization_id) as authorization_id,
    trim(c.correlation_id) as correlation_id,
    a.commits, a.rollbacks,
    date_diff('microsecond', a.begin_utc, a.end_utc) as elapsed_us,
    a.end_cpu_us - a.begin_cpu_us + coalesce(a.end_srb_us - a.begin_srb_us, 0) as cpu_us,
    a.class2_elapsed_us, a.class2_cpu_us + coalesce(a.class2_srb_us, 0) as class2_cpu_us,
    a.wait_sync_io_us, a.wait_lock_latch_us,
    coalesce(a.wait_other_read_us, 0) + coalesce(a.wait_other_write_us, 0) + coalesce(a.wait_service_task_us, 0)
      + coalesce(a.wait_archive_log_us, 0) as wait_other_us,
    a.waits_sync_io
  from {{ source('staging', 'stg_smf101_accounting') }} a
  join {{ source('staging', 'stg_smf101_product') }} p using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf101_correlation') }} c
    on c.file_id = p.file_id and c.record_seq = p.record_seq and c.parent_seq = p.section_seq
),

together as (
  select smf_sid, hour_local, db2_subsystem, connection_name, plan_name, authorization_id, correlation_id, count(*) as threads,
    {% for column in ['commits', 'rollbacks', 'elapsed_us', 'cpu_us', 'class2_elapsed_us', 'class2_cpu_us',
        'wait_sync_io_us', 'wait_lock_latch_us', 'wait_other_us', 'waits_sync_io'] -%}
    sum({{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from thread
  group by smf_sid, hour_local, db2_subsystem, connection_name, plan_name, authorization_id, correlation_id
)

select
  coalesce(o.system_id, t.smf_sid)::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.hour_local::timestamp as hour_local,
  t.db2_subsystem::varchar as db2_subsystem,
  t.connection_name::varchar as connection_name,
  t.plan_name::varchar as plan_name,
  t.authorization_id::varchar as authorization_id,
  t.correlation_id::varchar as correlation_id,
  t.threads::bigint as threads,
  t.commits::double as commits,
  t.rollbacks::double as rollbacks,
  {{ metric('db2_elapsed_ms_per_commit') }} as db2_elapsed_ms_per_commit,
  {{ metric('db2_cpu_us_per_commit') }} as db2_cpu_us_per_commit,
  {{ metric('db2_class2_elapsed_ms_per_commit') }} as db2_class2_elapsed_ms_per_commit,
  {{ metric('db2_class2_cpu_us_per_commit') }} as db2_class2_cpu_us_per_commit,
  {{ metric('db2_sync_io_wait_pct') }} as db2_sync_io_wait_pct,
  {{ metric('db2_lock_wait_pct') }} as db2_lock_wait_pct,
  {{ metric('db2_other_wait_pct') }} as db2_other_wait_pct,
  {{ metric('db2_sync_io_ms') }} as db2_sync_io_ms
from together t
left join {{ ref('int_owner') }} o using (smf_sid)
