-- Do Etalon's figures agree with RMF's?
-- Where records and an RMF report of the same interval were loaded: fields compared, and the largest excess over rounding.
select report, field, unit, count(*) as compared, round(max(abs(difference_pct)), 4) as largest_difference_pct,
  round(max(excess_pct), 4) as largest_excess_pct
from marts.fct_rmf_reconciliation
group by all
order by largest_excess_pct desc, report, field
