-- Longer names are cut, so that one name can stand for several resources: only a section of the same figures is a copy.
select
  {{ interval_key('e.smf_sid', 'e.interval_start_utc', 'e.interval_start_local') }}::varchar as interval_key,
  coalesce(min(o.system_id), e.smf_sid)::varchar as system_id,
  e.smf_sid::varchar as smf_sid,
  e.interval_start_utc::timestamp as interval_start_utc,
  e.interval_start_local::timestamp as interval_start_local,
  max(e.interval_s)::double as interval_s,
  trim(e.resource_major_name)::varchar as major_name,
  trim(e.resource_minor_name_first_44)::varchar as minor_name,
  e.is_systems_scope::boolean as is_systems_scope,
  sum(e.contention_events)::double as contentions,
  (sum(e.total_contention_us) / 1e6)::double as contention_s,
  (max(e.longest_contention_us) / 1e3)::double as contention_max_ms,
  greatest(max(e.most_exclusive_waiters), max(e.most_share_waiters))::integer as waiters_max,
  {{ metric('enqueue_contentions_per_s', {'contentions': 'sum(e.contention_events)', 'seconds': 'max(e.interval_s)'}) }}
    as enqueue_contentions_per_s,
  {{ metric('enqueue_contention_ms', {'contention_us': 'sum(e.total_contention_us)',
    'contentions': 'sum(e.contention_events)'}) }} as enqueue_contention_ms
from {{ first_written(source('staging', 'stg_smf77_enqueue'), ['resource_major_name', 'resource_minor_name_first_44',
  'is_systems_scope', 'minor_name_length_bytes', 'contention_events', 'total_contention_us', 'shortest_contention_us',
  'longest_contention_us']) }} e
left join {{ ref('int_owner') }} o on o.smf_sid = e.smf_sid
group by e.smf_sid, e.interval_start_utc, e.interval_start_local, trim(e.resource_major_name),
  trim(e.resource_minor_name_first_44), e.is_systems_scope
