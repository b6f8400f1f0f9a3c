-- Storage in use by area: private areas of address spaces from SMF 78.2, everything else from displays. The subject is
-- `<job> private|lsqa below|above` (lsqa with SWA and subpools 229 and 230), `<area>` or `<area> <location>`, or a total.
-- Totals add up the means of all parts; CSM in the ECSA and fixed CSM are contained in other areas and left out of them.
-- Where the condition of the point names a number of sessions or clients, it is also given per session.
with recorded as (
  select p.system_id, p.point, p.condition, p.position, p.seconds, p.share, trim(s.job_name) as job_name, unnest([
      {% for area, column in [('private', 'user'), ('lsqa', 'system')] -%}
      {% for location in ['below', 'above'] -%}
      {'area': '{{ area }}', 'location': '{{ location }}',
        'kb': s.{{ column }}_allocated_{{ location }}_total_bytes / 1024,
        'max_kb': s.{{ column }}_allocated_{{ location }}_max_bytes / 1024.0}
      {%- if not (area == 'lsqa' and location == 'above') %},{% endif %}
      {% endfor -%}
      {% endfor -%}
    ], recursive := true),
    s.job_samples as samples
  from {{ first_written(source('staging', 'stg_smf78_2_private'), ['job_name', 'read_date', 'read_clock_us']) }} s
  join {{ ref('int_point_share') }} p using (smf_sid, interval_start_utc, interval_s)
  where p.is_run and s.job_samples > 0
),

displayed as (
  select r.system_id, r.point, r.condition, s.job_name, s.area, s.location, s.used_kb as kb, s.used_kb as max_kb,
    1 as samples,
    row_number() over (
      partition by r.system_id, r.point, r.condition, s.job_name, s.area, s.location order by s.sampled_utc
    ) as position
  from {{ ref('stg_collector_storage') }} s
  join {{ ref('int_run') }} r on {{ at_run('r', 's.smf_sid', 's.sampled_utc') }}
),

part as (
  select *, concat_ws(' ', nullif(job_name, ''), area, nullif(location, '')) as subject
  from (
    select system_id, point, condition, position, seconds, job_name, area, location, sum(share * kb) as kb,
      max(max_kb) as max_kb, sum(share * samples) as samples
    from recorded
    where kb > 0
    group by all
    union all by name
    select * from displayed
  )
),

mean as (
  select system_id, point, condition, job_name, area, location, sum(kb) / sum(samples) as kb
  from part
  where area not in ('csm_ecsa', 'csm_fixed')
  group by all
),

total as (
  select system_id, point, condition, unnest([
    'total', 'total ' || nullif(location, ''), nullif(job_name, '') || ' total'
  ]) as subject, kb
  from mean
),

used as (
  select system_id, point, condition, position, seconds, subject, kb, samples, 'ratio' as how from part
  union all by name
  select system_id, point, condition, 1 as position, null::double as seconds, subject, kb, 1 as samples, 'sum' as how
  from total
  where subject is not null
),

per_session as (
  select *, nullif(regexp_extract(condition, '(?:^|; )(?:sessions|clients)=([0-9]+)', 1), '')::double as sessions from used
)

select system_id, point, condition, true as is_run, position, seconds, null::varchar as workload, subject, metric, unit,
  coalesce(how, aggregation) as aggregation, scale, numerator, denominator
from (
  select *, unnest([{{ measure('storage_kb') }}, {{ measure('storage_kb_per_session') }}], recursive := true)
  from per_session
  union all by name
  select system_id, point, condition, position, seconds, subject,
    unnest([{{ measure('storage_max_kb') }}], recursive := true)
  from part
)
where denominator is not null
