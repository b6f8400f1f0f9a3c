-- How much zIIP-eligible work runs on general-purpose engines?
-- It is charged as CP time. A high share means too few zIIPs, or work that may not wait for them.
select system_id, smf_sid, max(ziips) as ziips, round(avg(ziip_busy_pct), 2) as ziip_busy_pct,
  round(sum(ziip_service_s), 3) as ziip_s, round(sum(ziip_on_cp_s), 3) as on_cp_s,
  round(100 * sum(ziip_on_cp_s) / nullif(sum(ziip_service_at_cp_speed_s) + sum(ziip_on_cp_s), 0), 1) as on_cp_share_pct
from marts.fct_ziip
group by all
order by on_cp_share_pct desc nulls last, system_id
