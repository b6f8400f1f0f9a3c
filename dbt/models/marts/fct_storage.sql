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
  from {{ first_written(source('staging', 'stg_smf78_2_private'), ['job_name', 'read_date', 'read_clock_us']) }}
  where job_samples > 0
),

measured as (
  select
    k.interval_key, min(k.system_id) as system_id, k.smf_sid, min(k.point) as point, min(k.condition) as condition,
    min(k.interval_start_utc) as interval_start_utc, min(k.interval_start_local) as interval_start_local,
    sum(k.share * k.recorded_s) as interval_s,
    a.job_name, a.area, a.location,
    sum(k.share * a.total) as sampled_bytes, sum(k.share * a.job_samples) as samples, max(a.most) as most
  from area a
  join {{ ref('int_interval_share') }} k
    on k.smf_sid = a.smf_sid and {{ same_start('k.recorded_start', 'a.interval_start') }} and k.recorded_s = a.interval_s
  group by k.interval_key, k.smf_sid, a.job_name, a.area, a.location
)

select
  {{ interval_identity() }},
  job_name::varchar as job_name,
  area::varchar as area,
  location::varchar as location,
  {{ metric('storage_bytes') }} as mean_bytes,
  most::double as max_bytes
from measured
