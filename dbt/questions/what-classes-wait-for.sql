-- What do the transactions of a service class spend their time on?
-- States in which WLM found them, as reported by their subsystem (SMF 72.3): mean milliseconds per transaction and
-- share of the total. `begin to end` is the whole transaction, `execution` its part in a region. Second states of a
-- transaction are left out.
with ended as (
  select system_id, class_name, sum(transactions_ended) as transactions
  from marts.fct_service_class
  where class_kind = 'service_class' and interval_key in (select interval_key from marts.fct_transaction_state)
  group by system_id, class_name
)
select s.system_id, s.class_name, s.subsystem, s.phase, s.state,
  round(1e3 * sum(s.state_s) / nullif(any_value(e.transactions), 0), 3) as ms_per_tran,
  round(100 * sum(s.state_s) / sum(sum(s.state_s)) over (partition by s.system_id, s.class_name, s.subsystem, s.phase), 1)
    as state_pct
from marts.fct_transaction_state s
join ended e using (system_id, class_name)
where s.class_kind = 'service_class' and s.state not in ('active application', 'continued local', 'continued sysplex',
  'continued network')
group by s.system_id, s.class_name, s.subsystem, s.phase, s.state
having sum(s.state_s) > 0
order by sum(s.state_s) desc, s.system_id, s.class_name, s.phase, s.state
limit 12
