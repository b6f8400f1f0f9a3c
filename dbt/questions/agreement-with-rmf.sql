-- Do Etalon's figures agree with RMF's?
-- Compares records with an RMF report of the same interval: number of compared fields, and the largest excess over
-- rounding.
select report, field, unit, count(*) as compared, round(max(abs(difference_pct)), 4) as largest_difference_pct,
  round(max(excess_pct), 4) as largest_excess_pct
from marts.fct_rmf_reconciliation
group by all
order by largest_excess_pct desc, report, field
