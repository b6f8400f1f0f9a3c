-- Leap seconds that the store clock of each system includes. Clocks that know of them are at least ten ahead of UTC;
-- less is how far an interval's end misses its start and length.
select
  smf_sid,
  case when ahead_s between 10 and 60 then ahead_s else 0 end as leap_s
from (
  select smf_sid, floor(median(store_clock_ahead_s - 1800 * round(store_clock_ahead_s / 1800)) + 0.05) as ahead_s
  from {{ source('staging', 'stg_smf70_1_product') }}
  where store_clock_ahead_s is not null
  group by smf_sid
)
