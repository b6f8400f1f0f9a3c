with latest as (
  select
    system_id,
    smf_sid,
    arg_max(sysplex_name, interval_start_local) as sysplex_name,
    arg_max(system_name, interval_start_local) as system_name,
    arg_max(cpc_serial, interval_start_local) as cpc_serial,
    count(*) as intervals,
    count(point) as run_intervals,
    min(interval_start_local) as first_start_local,
    max(interval_start_local) as last_start_local
  from {{ ref('int_interval') }}
  group by system_id, smf_sid
),

machine as (
  select n.system_id, n.smf_sid, m.*
  from {{ ref('int_interval') }} n
  join {{ ref('int_cpc') }} m using (interval_key)
  where m.cpc_type is not null
  qualify row_number() over (partition by n.system_id, n.smf_sid order by n.interval_start_local desc) = 1
),

engines as (
  select
    n.system_id,
    n.smf_sid,
    max(e.engines) filter (where e.engine_type = 'CP') as cps,
    max(e.engines) filter (where e.engine_type = 'zIIP') as ziips,
    max(e.dedicated_engines) filter (where e.engine_type = 'CP') as dedicated_cps
  from {{ ref('int_engine_interval') }} e
  join {{ ref('int_interval') }} n using (interval_key)
  group by n.system_id, n.smf_sid
),

-- A CPC is named by its type, its capacity model and the end of its serial number, as far as that tells it from others.
named as (
  select system_id, smf_sid, cpc,
    concat_ws(' ', model, case when serial = '' then cpc when length(serial) > 5 and model is not null
      then '…' || right(serial, 5) else serial end) as short_name,
    concat_ws(' ', model, cpc) as long_name
  from (
    select *, coalesce(cpc_serial, smf_sid) as cpc, ltrim(cpc, '0') as serial,
      max(nullif(concat_ws('-', cpc_type, cpc_model), '')) over (partition by cpc) as model
    from latest
    left join (select system_id, smf_sid, cpc_type, cpc_model from machine) using (system_id, smf_sid)
  )
),

cpc as (
  select system_id, smf_sid,
    case when min(cpc) over one_name = max(cpc) over one_name then short_name else long_name end as cpc_name
  from named
  window one_name as (partition by short_name)
)

select
  l.system_id::varchar as system_id,
  l.smf_sid::varchar as smf_sid,
  l.sysplex_name::varchar as sysplex_name,
  l.system_name::varchar as system_name,
  l.cpc_serial::varchar as cpc_serial,
  c.cpc_name::varchar as cpc_name,
  m.cpc_type::varchar as cpc_type,
  m.cpc_model::varchar as cpc_model,
  m.cpc_physical_model::varchar as cpc_physical_model,
  e.cps::integer as cps,
  e.dedicated_cps::integer as dedicated_cps,
  coalesce(e.ziips, 0)::integer as ziips,
  m.image_capacity_msu::double as image_capacity_msu,
  m.service_units_per_s::double as service_units_per_s,
  m.software_service_units_per_s::double as software_service_units_per_s,
  l.intervals::integer as intervals,
  l.run_intervals::integer as run_intervals,
  l.first_start_local::timestamp as first_start_local,
  l.last_start_local::timestamp as last_start_local
from latest l
join cpc c using (system_id, smf_sid)
left join machine m using (system_id, smf_sid)
left join engines e using (system_id, smf_sid)
