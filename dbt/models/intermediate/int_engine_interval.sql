-- Engines of one type summed over an interval. Records are preferred; a report speaks where there is no record.
with recorded as (
  select
    interval_key,
    engine_type,
    'record' as source,
    count(*) as engines,
    count(*) filter (where is_dedicated) as dedicated_engines,
    sum(online_s) as online_s,
    sum(busy_s) as busy_s,
    sum(lpar_busy_s) as lpar_busy_s,
    sum(mvs_available_s) as mvs_available_s,
    sum(mvs_busy_s) as mvs_busy_s,
    sum(parked_s) as parked_s
  from {{ ref('int_engine') }}
  group by interval_key, engine_type
),

density as (
  select r.interval_key, t.engine_type, t.thread_density
  from {{ ref('int_record') }} r
  join (
    select file_id, record_seq,
      unnest(['CP', 'zIIP']) as engine_type,
      unnest([thread_density_cp, thread_density_ziip]) as thread_density
    from {{ source('staging', 'stg_smf70_1_control') }}
  ) t using (file_id, record_seq)
  where r.record_type = '70.1'
),

reported as (
  select * from {{ ref('int_report_engine') }}
  anti join recorded using (interval_key)
)

select e.*, nullif(d.thread_density, 0) as thread_density
from (
  select * from recorded
  union all by name
  select * from reported
) e
left join density d using (interval_key, engine_type)
