-- Begin-to-end transactions of each workload in each interval: those ended in its transaction classes; and how many
-- workloads were active on the LPAR then.
with ended as (
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
),

active as (
  select interval_key, workload from ended where transactions_ended > 0
  union
  select interval_key, workload from {{ ref('int_group_interval') }} where cp_s > 0
)

select e.*, coalesce(a.workloads, 0) as workloads
from ended e
left join (select interval_key, count(*) as workloads from active group by interval_key) a using (interval_key)
