-- MSU by clock hour of local time, as SCRT counts them: the rolling four-hour average of hours, limited by defined
-- capacity and by the limit of the capacity group. Local time repeats an hour in autumn: the higher average counts.
with lpar as (
  select m.name, date_trunc('hour', m.interval_start_local) as hour_local, any_value(m.system_id) as system_id,
    max(c.cpc) as cpc, {{ ratio('sum(m.msu * m.interval_s)', 'sum(m.interval_s)') }} as msu,
    max(m.hourly_r4ha_msu) as r4ha_msu, max(c.defined_capacity_msu) as defined_capacity_msu,
    nullif(trim(max(c.capacity_group_name)), '') as capacity_group, max(c.capacity_group_limit_msu) as group_limit_msu,
    {{ ratio('sum(c.capped_pct * m.interval_s)', 'sum(m.interval_s) filter (c.capped_pct is not null)') }} as capped_pct
  from {{ ref('fct_msu') }} m
  left join {{ ref('fct_cpc_interval') }} c on c.interval_key = m.interval_key and c.smf_sid = m.name and c.engine_type = 'CP'
  where m.scope = 'lpar'
  group by all
),

limited as (
  select *, least(r4ha_msu, defined_capacity_msu) as billable_msu from lpar where r4ha_msu is not null
),

-- A product is used in an hour by the LPARs whose usage records of that hour name it.
product as (
  select distinct smf_sid as name, hour_local, concat_ws(' ', product_name, nullif(product_version, '')) as product
  from (
    select *, unnest({{ hours_touched('interval_start_local', 'greatest(interval_s - 1, 0)') }}) as hour_local
    from {{ ref('fct_product_usage') }}
  )
),

-- Members of a group count together; an LPAR without a group is alone.
together as (
  select cpc, hour_local, product, coalesce(capacity_group, name) as member, count(*) as lpars, sum(msu) as msu,
    sum(r4ha_msu) as r4ha_msu, case when max(capacity_group) is not null then max(group_limit_msu) end as limit_msu,
    least(sum(billable_msu), limit_msu) as billable_msu, max(capped_pct) as capped_pct,
    max(capacity_group) as capacity_group
  from (
    select *, null as product from limited
    union all by name
    select l.*, p.product from limited l join product p using (name, hour_local)
  )
  group by cpc, hour_local, product, member
),

-- What the records of an LPAR say of LPARs without records of their own is in the machine's sum.
machine as (
  select m.name, date_trunc('hour', m.interval_start_local) as hour_local,
    {{ ratio('sum(m.msu * m.interval_s)', 'sum(m.interval_s)') }} as msu, max(m.hourly_r4ha_msu) as r4ha_msu
  from {{ ref('fct_msu') }} m
  where m.scope = 'cpc'
  group by all
),

found as (
  select 'lpar' as scope, name, system_id, cpc, hour_local, 1 as lpars, msu, r4ha_msu, defined_capacity_msu as limit_msu,
    billable_msu, capped_pct, capacity_group
  from limited
  union all by name
  select 'capacity_group' as scope, capacity_group as name, cpc, hour_local, lpars, msu, r4ha_msu, limit_msu, billable_msu, capped_pct
  from together
  where product is null and capacity_group is not null
  union all by name
  select 'cpc' as scope, m.name, m.name as cpc, m.hour_local, max(s.lpars) as lpars, m.msu, m.r4ha_msu,
    greatest(m.r4ha_msu - coalesce(max(s.unbilled_msu), 0), 0) as billable_msu, max(s.capped_pct) as capped_pct
  from machine m
  left join (
    select cpc, hour_local, sum(lpars) as lpars, sum(r4ha_msu - billable_msu) as unbilled_msu, max(capped_pct) as capped_pct
    from together
    where product is null
    group by cpc, hour_local
  ) s on s.cpc = m.name and s.hour_local = m.hour_local
  where m.r4ha_msu is not null
  group by m.name, m.hour_local, m.msu, m.r4ha_msu
  union all by name
  select 'product' as scope, product as name, cpc, hour_local, sum(lpars) as lpars, sum(msu) as msu, sum(r4ha_msu) as r4ha_msu,
    sum(billable_msu) as billable_msu, max(capped_pct) as capped_pct
  from together
  where product is not null
  group by cpc, hour_local, product
)

select
  scope::varchar as scope,
  name::varchar as name,
  system_id::varchar as system_id,
  cpc::varchar as cpc,
  hour_local::timestamp as hour_local,
  (date_trunc('month', hour_local - interval 1 day) + interval 1 day)::date as billing_month,
  lpars::integer as lpars,
  msu::double as msu,
  r4ha_msu::double as r4ha_msu,
  limit_msu::double as limit_msu,
  billable_msu::double as billable_msu,
  capped_pct::double as capped_pct,
  capacity_group::varchar as capacity_group
from found
