-- What does a transaction cost, and in which address spaces?
-- Measured points. Total CPU includes CPU that was charged to no address space.
-- needs: measured points, which a runs file names (docs/loading.md)
select p.system_id, p.point, p.workload, m.label, round(p.value, 2) as cpu_us
from marts.fct_point_metric p
join marts.dim_metric m using (metric)
where p.is_run and p.unit = 'us/tran' and p.metric like '%cpu_us_per_tran' and p.subject = ''
order by p.system_id, p.point, m.place, m.label
limit 20
