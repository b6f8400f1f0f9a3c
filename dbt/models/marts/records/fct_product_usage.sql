-- An interval's products take as many records as they need: only a section of the same figures is a copy.
with usage as (
  select u.*, p.interval_start_date + to_microseconds(p.interval_start_clock_us::bigint) as start_local,
    p.interval_end_date + to_microseconds(p.interval_end_clock_us::bigint) as end_local
  from {{ source('staging', 'stg_smf89_1_usage') }} u
  join {{ source('staging', 'stg_smf89_1_product') }} p using (file_id, record_seq)
),

together as (
  select smf_sid, start_local, trim(product_owner) as product_owner, trim(product_name) as product_name,
    trim(product_version) as product_version, trim(product_qualifier) as product_qualifier,
    trim(product_id) as product_id, max(date_diff('microsecond', start_local, end_local)) / 1e6 as seconds,
    sum(tcb_us + coalesce(srb_us, 0)) as cpu_us, sum(offloaded_us) as offloaded_us
  from {{ first_written('usage', ['end_local', 'product_owner', 'product_name', 'product_version', 'product_qualifier',
    'product_id', 'tcb_us', 'srb_us', 'offloaded_us', 'type_resource_data', 'resource_data'], 'start_local') }}
  group by all
)

select
  coalesce(o.system_id, t.smf_sid)::varchar as system_id,
  t.smf_sid::varchar as smf_sid,
  t.start_local::timestamp as interval_start_local,
  t.seconds::double as interval_s,
  t.product_owner::varchar as product_owner,
  t.product_name::varchar as product_name,
  t.product_version::varchar as product_version,
  t.product_qualifier::varchar as product_qualifier,
  t.product_id::varchar as product_id,
  (t.cpu_us / 1e6)::double as cp_s,
  (t.offloaded_us / 1e6)::double as offloaded_s,
  {{ metric('product_cps_used') }} as product_cps_used
from together t
left join {{ ref('int_owner') }} o using (smf_sid)
