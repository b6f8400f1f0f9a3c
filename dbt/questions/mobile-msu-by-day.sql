-- How many MSU does mobile work use, day by day?
-- Mean over the part of the day in which the MSU of every service class are known, the number of those intervals, and
-- the peak interval. Based on service classes, because every transaction is in exactly one.
with interval_total as (
  select system_id, smf_sid, interval_key, date_trunc('day', interval_start_local) as day, any_value(interval_s) as interval_s,
    sum(mobile_msu) as mobile_msu, sum(mobile_appl_cp_pct) as mobile_cpu_pct
  from marts.fct_service_class
  where class_kind = 'service_class'
  group by all
  having count(mobile_msu) = count(*)
)
select system_id, smf_sid, day::date as day, count(*) as intervals, round(sum(mobile_cpu_pct * interval_s) / sum(interval_s), 2) as mobile_cpu_pct,
  round(sum(mobile_msu * interval_s) / sum(interval_s), 2) as mean_mobile_msu, round(max(mobile_msu), 2) as peak_mobile_msu
from interval_total
group by system_id, smf_sid, day
having sum(mobile_msu) > 0
order by system_id, smf_sid, day
