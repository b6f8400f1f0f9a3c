-- How many service units does a transaction take?
-- CPU and SRB service of each class with transactions: comparable between CPCs of different speed.
select system_id, class_name, round(sum(transactions_ended), 0) as transactions,
  round((sum(cpu_service_units) + sum(srb_service_units)) / sum(transactions_ended), 3) as service_units_per_tran
from marts.fct_service_class
where class_kind = 'service_class' and service_units is not null
group by all
having sum(transactions_ended) > 0 and sum(cpu_service_units) + sum(srb_service_units) > 0
order by service_units_per_tran desc, system_id, class_name
limit 12
