{%- set means = ['response', 'connect', 'disconnect', 'pending'] -%}
-- Means of a record are times its I/Os; fine means (1 us) are taken where they are recorded, else those of 128 us.
with io as (
  select
    d.smf_sid, date_trunc('hour', d.written_local) as hour_local, trim(j.job_name) as job_name,
    trim(d.data_set_name) as data_set_name, trim(d.volume_serial) as volume_serial,
    nullif(trim(d.storage_class), '') as storage_class,
    i.ios, i.reads, i.cache_candidates, i.cache_hits, i.write_candidates, i.write_hits, i.maximum_response_us,
    {% for mean in means -%}
    i.ios * coalesce(nullif(i.average_{{ mean }}_fine_us, 0), i.average_{{ mean }}_us) as {{ mean }}_us
    {{- ',' if not loop.last }}
    {% endfor %}
  from {{ source('staging', 'stg_smf42_6_data_set') }} d
  join {{ source('staging', 'stg_smf42_6_io') }} i
    on i.file_id = d.file_id and i.record_seq = d.record_seq and i.parent_seq = d.section_seq
  left join {{ source('staging', 'stg_smf42_6_job') }} j
    on j.file_id = d.file_id and j.record_seq = d.record_seq and j.section_seq = d.parent_seq
),

together as (
  select smf_sid, hour_local, job_name, data_set_name, volume_serial, max(storage_class) as storage_class,
    max(maximum_response_us) as maximum_response_us,
    {% for column in ['ios', 'reads', 'cache_candidates', 'cache_hits', 'write_candidates', 'write_hits', 'response_us',
        'connect_us', 'disconnect_us', 'pending_us'] -%}
    sum({{ column }}) as {{ column }}{{ ',' if not loop.last }}
    {% endfor %}
  from io
  group by smf_sid, hour_local, job_name, data_set_name, volume_serial
)

select
  coalesce(o.system_id, t.smf_sid)::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.hour_local::timestamp as hour_local,
  t.job_name::varchar as job_name,
  t.data_set_name::varchar as data_set_name,
  t.volume_serial::varchar as volume_serial,
  t.storage_class::varchar as storage_class,
  t.ios::double as ios,
  t.reads::double as reads,
  t.cache_candidates::double as cache_candidates,
  t.cache_hits::double as cache_hits,
  (t.maximum_response_us / 1e3)::double as response_max_ms,
  {% for mean in means -%}
  {{ metric('data_set_' ~ mean ~ '_ms', {mean ~ '_us': 't.' ~ mean ~ '_us'}) }} as data_set_{{ mean }}_ms,
  {% endfor -%}
  {{ metric('data_set_cache_hit_pct') }} as data_set_cache_hit_pct,
  {{ metric('data_set_write_hit_pct') }} as data_set_write_hit_pct
from together t
left join {{ ref('int_owner') }} o using (smf_sid)
