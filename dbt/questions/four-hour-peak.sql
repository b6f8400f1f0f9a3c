-- What is the peak of the rolling four-hour average?
-- By LPAR and by machine; `hours_averaged` below 4 means that the records do not reach back that far.
select scope, name, interval_start_local as peak_at, round(four_hour_average_msu, 1) as four_hour_average_msu,
  round(msu, 1) as msu, round(hours_averaged, 2) as hours_averaged
from marts.fct_msu
qualify row_number() over (partition by scope, name order by four_hour_average_msu desc, interval_start_local) = 1
order by four_hour_average_msu desc, name
limit 12
