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
  from {{ ref('stg_smf78_2_private') }} s
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
  select system_id, point, condition, position, seconds, subject, 'ratio' as aggregation, kb as numerator,
    samples as denominator
  from part
  union all by name
  select system_id, point, condition, 1 as position, null::double as seconds, subject, 'sum' as aggregation,
    kb as numerator, 1 as denominator
  from total
  where subject is not null
),

per_session as (
  select *, regexp_extract(condition, '(?:^|; )(?:sessions|clients)=([0-9]+)', 1) as sessions from used
)

select system_id, point, condition, true as is_run, position, seconds, null::varchar as workload, subject,
  'storage_kb' as metric, 'KB' as unit, aggregation, 1.0 as scale, numerator, denominator
from used
union all
select system_id, point, condition, true, position, seconds, null, subject,
  'storage_kb_per_session', 'KB', aggregation, 1.0, numerator, denominator * nullif(sessions, '')::double
from per_session
where sessions <> ''
union all
select system_id, point, condition, true, position, seconds, null, subject,
  'storage_max_kb', 'KB', 'max', 1.0, max_kb, 1
from part
