-- Begin-to-end transactions of each workload in each interval: those ended in its transaction classes.
select
  n.interval_key,
  g.workload,
  sum(c.transactions_ended) as transactions_ended,
  sum(c.executions_ended) as executions_ended,
  sum(c.elapsed_us) as elapsed_us,
  sum(c.execution_us) as execution_us,
  sum(c.transaction_cp_s) as transaction_cp_s,
  sum(c.mobile_cp_s) as mobile_cp_s
from {{ ref('int_interval') }} n
join (select distinct system_id, smf_sid, workload, pattern from {{ ref('int_group') }} where kind = 'transaction_class') g
  on g.system_id = n.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid)
join {{ ref('int_class_interval') }} c
  on c.interval_key = n.interval_key and c.class_kind = 'report_class' and c.class_name like g.pattern
group by n.interval_key, g.workload
