-- Which products use how much CPU?
-- Registered products (SMF 89.1); CPs used on average over the hours recorded, and in the busiest interval.
select system_id, product_owner, product_name, product_version, product_qualifier,
  round(sum(cp_s) / 3600, 3) as cp_hours, round(sum(cp_s) / nullif(sum(interval_s), 0), 3) as cps_used,
  round(max(product_cps_used), 3) as cps_used_max, round(sum(offloaded_s) / 3600, 3) as offloaded_hours
from marts.fct_product_usage
group by system_id, product_owner, product_name, product_version, product_qualifier
order by cp_hours desc nulls last, product_name
limit 12
