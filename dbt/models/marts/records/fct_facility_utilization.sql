-- Busy time of a coupling facility's processors, whichever systems its requests came from.
with facility as (
  select p.smf_sid, p.interval_start_utc, p.interval_start_local, p.interval_s, trim(f.cf_name) as facility_name,
    any_value(f.requests) as requests, count(*) as processors, sum(p.busy_us) / 1e6 as busy_s, sum(p.busy_us + p.wait_us) / 1e6 as online_s
  from {{ first_written(source('staging', 'stg_smf74_4_facility'), ['cf_name']) }} f
  join {{ source('staging', 'stg_smf74_4_processor') }} p using (file_id, record_seq)
  group by all
)

select
  k.interval_key::varchar as interval_key,
  min(k.system_id)::varchar as system_id,
  k.smf_sid::varchar as smf_sid,
  min(k.interval_start_utc)::timestamp as interval_start_utc,
  min(k.interval_start_local)::timestamp as interval_start_local,
  sum(k.share * k.recorded_s)::double as interval_s,
  f.facility_name::varchar as facility_name,
  max(f.processors)::integer as processors,
  sum(k.share * f.requests)::double as requests,
  sum(k.share * f.busy_s)::double as busy_s,
  (100 * {{ ratio('sum(k.share * f.busy_s)', 'sum(k.share * f.online_s)') }})::double as busy_pct
from facility f
join {{ ref('int_interval_share') }} k
  on k.smf_sid = f.smf_sid and {{ same_start('k.recorded_start', 'f.interval_start') }} and k.recorded_s = f.interval_s
group by k.interval_key, k.smf_sid, f.facility_name
