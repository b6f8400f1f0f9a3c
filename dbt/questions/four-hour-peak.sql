-- What is the peak of the rolling four-hour average?
-- By LPAR and by CPC, for completely recorded windows. If there is no such window, the row has the highest incomplete
-- one, and `is_full_window` is false.
select scope, name, interval_start_local as peak_at, round(r4ha_msu, 1) as r4ha_msu,
  round(msu, 1) as msu, round(hours_averaged, 2) as hours_averaged, hours_averaged > 3.95 as is_full_window
from marts.fct_msu
qualify row_number() over (
  partition by scope, name order by is_full_window desc, r4ha_msu desc, interval_start_local) = 1
order by is_full_window desc, fct_msu.r4ha_msu desc, name
limit 12
