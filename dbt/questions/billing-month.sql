-- What is the peak R4HA of each billing month?
-- By CPC, capacity group, LPAR and product, within defined and group capacity, averaged by hours as SCRT does. SCRT
-- decides the bill. `etalon r4ha` adds costs and the highest hours.
select billing_month, scope, coalesce(c.cpc_name, h.name) as name, round(max(billable_msu), 1) as peak_msu,
  arg_max(hour_local, (billable_msu, -epoch(hour_local))) as peak_at, round(max(r4ha_msu), 1) as r4ha_msu,
  max(limit_msu) as limit_msu, count(*) filter (where r4ha_msu > limit_msu) as hours_above_limit,
  count(*) filter (where capped_pct > 0) as hours_capped, count(*) as hours_recorded
from marts.fct_msu_hour h
left join (select distinct coalesce(cpc_serial, smf_sid) as name, cpc_name from marts.dim_system) c
  on h.scope = 'cpc' and c.name = h.name
group by all
order by billing_month desc, scope, peak_msu desc, name
limit 20
