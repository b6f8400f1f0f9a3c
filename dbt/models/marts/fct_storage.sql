-- Means are sums over samples divided by the number of samples.
with area as (
  select smf_sid, interval_start_utc, interval_start_local, interval_s, trim(job_name) as job_name, job_samples,
    unnest([
      {% for area, column in [('user', 'user_allocated'), ('system', 'system_allocated')] -%}
      {% for location in ['below', 'above'] -%}
      {'area': '{{ area }}', 'location': '{{ location }}', 'total': {{ column }}_{{ location }}_total_bytes::double,
        'most': {{ column }}_{{ location }}_max_bytes::double},
      {% endfor -%}
      {% endfor -%}
      {'area': 'memory objects', 'location': 'above the bar', 'total': memory_total_bytes::double,
        'most': memory_max_bytes::double}
    ], recursive := true)
  from {{ ref('stg_smf78_2_private') }}
  where job_samples > 0
),

{{ interval_of('area') }},

{{ run_of_interval('area') }}

select
  coalesce(n.interval_key, {{ interval_key('a.smf_sid', 'a.interval_start_utc', 'a.interval_start_local') }})::varchar
    as interval_key,
  coalesce(n.system_id, r.system_id, o.system_id, a.smf_sid)::varchar as system_id,
  a.smf_sid::varchar as smf_sid,
  coalesce(n.point, r.point)::varchar as point,
  coalesce(n.condition, r.condition)::varchar as condition,
  a.interval_start_utc::timestamp as interval_start_utc,
  a.interval_start_local::timestamp as interval_start_local,
  a.interval_s::double as interval_s,
  a.job_name::varchar as job_name,
  a.area::varchar as area,
  a.location::varchar as location,
  {{ metric('storage_bytes', {'sampled_bytes': 'a.total', 'samples': 'a.job_samples'}) }} as mean_bytes,
  a.most::double as max_bytes
from area a
left join interval_of n on n.smf_sid = a.smf_sid and n.interval_start_utc = a.interval_start_utc
left join run_of_interval r on r.smf_sid = a.smf_sid and r.interval_start_utc = a.interval_start_utc
left join {{ ref('int_owner') }} o on o.smf_sid = a.smf_sid
