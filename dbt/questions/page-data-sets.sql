-- How full and how busy do page data sets get?
-- A local page data set that is more than 30 % full loses contiguous slots.
select system_id, data_set_name, max(slots) as slots, round(max(100 * slots_used_max / slots), 1) as used_max_pct,
  round(max(page_data_set_busy_pct), 1) as busy_max_pct, round(max(pages_per_s), 3) as pages_per_s_max,
  round(max_by(page_transfer_ms, pages_per_s), 3) as transfer_ms_then
from marts.fct_page_data_set
group by system_id, data_set_name
order by used_max_pct desc nulls last, data_set_name
limit 12
