-- Begin-to-end transactions of each workload in each interval: those ended in its transaction classes.
select
  interval_key,
  workload,
  sum(transactions_ended) as transactions_ended,
  sum(executions_ended) as executions_ended,
  sum(elapsed_us) as elapsed_us,
  sum(execution_us) as execution_us,
  sum(transaction_cp_s) as transaction_cp_s,
  sum(mobile_cp_s) as mobile_cp_s
from (select distinct on (interval_key, workload, class_kind, class_name) * from {{ transaction_classes() }})
group by interval_key, workload
