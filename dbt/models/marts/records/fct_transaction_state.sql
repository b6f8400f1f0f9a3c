{#- States that every subsystem reports; the others are resource delay types, which each subsystem names. #}
{%- set states = ['active', 'active_application', 'ready', 'idle', 'lock_wait', 'latch_wait', 'io_wait', 'buffer_pool_miss',
    'conversation_wait', 'distributed_wait', 'local_session_wait', 'sysplex_session_wait', 'network_session_wait',
    'timer_wait', 'other_product_wait', 'miscellaneous_wait', 'continued_local', 'continued_sysplex', 'continued_network',
    'ssl_thread_wait', 'regular_thread_wait', 'work_table_wait'] -%}
-- Each sample finds every transaction of the class in one state: samples times the sampling interval are seconds in it.
with sampled as (
  select
    n.interval_key, n.system_id, n.smf_sid, n.interval_start_utc, n.interval_start_local, n.interval_s,
    r.class_kind, r.class_name,
    coalesce(nullif(p.period_number, 0), p.section_seq + 1)::integer as period_number,
    c.state_sampling_interval_ms / 1e3 as sampling_s,
    case when s.is_begin_to_end then 'begin to end' when s.is_execution then 'execution' else 'unknown' end as phase,
    s.*
  from {{ ref('int_record') }} r
  join {{ ref('int_interval') }} n using (interval_key)
  join {{ source('staging', 'stg_smf72_3_control') }} c using (file_id, record_seq)
  join {{ source('staging', 'stg_smf72_3_period') }} p using (file_id, record_seq)
  join {{ source('staging', 'stg_smf72_3_resource_state') }} s
    on s.file_id = p.file_id and s.record_seq = p.record_seq
    and s.section_seq + 1 >= p.resource_state_index and s.section_seq + 1 < p.resource_state_index + p.resource_state_count
  where r.record_type = '72.3'
),

found as (
  select *, unnest([
    {% for state in states -%}
    {'state': '{{ state | replace('_', ' ') }}', 'samples': {{ state }}_samples}{{ ',' if not loop.last }}
    {% endfor -%}
  ], recursive := true), false as is_resource_type
  from sampled

  union all by name

  -- A resource type that nobody waited for stands here too: its name is known.
  select s.*, trim(n.delay_description) as state, true as is_resource_type,
    [{% for number in range(1, 16) %}s.resource_type_{{ '%02d' % number }}_wait_samples{{ ', ' if not loop.last }}{% endfor %}
    ][n.delay_type_number] as samples
  from sampled s
  join {{ source('staging', 'stg_smf72_3_delay_name') }} n
    on n.file_id = s.file_id and n.record_seq = s.record_seq
    and n.section_seq + 1 >= s.delay_name_index and n.section_seq + 1 < s.delay_name_index + s.delay_name_count
)

select
  interval_key::varchar as interval_key,
  system_id::varchar as system_id,
  smf_sid::varchar as smf_sid,
  interval_start_utc::timestamp as interval_start_utc,
  interval_start_local::timestamp as interval_start_local,
  interval_s::double as interval_s,
  class_kind::varchar as class_kind,
  class_name::varchar as class_name,
  period_number::integer as period_number,
  trim(subsystem_type)::varchar as subsystem,
  phase::varchar as phase,
  state::varchar as state,
  is_resource_type::boolean as is_resource_type,
  sum(samples)::double as samples,
  sum(samples * sampling_s)::double as state_s
from found
where is_resource_type or samples > 0
group by all
