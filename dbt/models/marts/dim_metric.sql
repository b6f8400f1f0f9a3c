-- What is known of each metric besides its formula. The first pattern that fits the whole name says it; the group in
-- a pattern is the address-space group, workload or class the metric is about.
with pattern as (
  select * from (values
    (0, 'capacity_per_tps', 'Capacity used per transaction rate', 'lower', false),
    (1, 'itr_tps', 'Internal transaction rate (ITR)', 'higher', false),
    (2, 'etr_tps', 'External transaction rate (ETR)', 'higher', true),
    (3, 'executed_tps', 'Executions in other regions', null, true),
    (4, 'cpu_busy_pct', 'CPU busy', null, false),
    (5, 'lpar_busy_pct', 'LPAR busy', null, false),
    (6, 'mvs_busy_pct', 'MVS busy', null, false),
    (7, 'ziip_busy_pct', 'zIIP busy', null, false),
    (8, 'total_busy_pct', 'CPs and zIIPs busy', null, false),
    (9, '(?:ziip_)?engines', 'Engines online', null, false),
    (10, 'capture_ratio', 'Capture ratio', 'higher', false),
    (11, 'cpu_us_per_tran', 'CPU per transaction, whole system', 'lower', false),
    (12, 'service_cpu_us_per_tran', 'CPU per transaction, all groups', 'lower', false),
    (13, 'ziip_us_per_tran', 'zIIP per transaction, whole system', null, false),
    (14, 'ziip_service_us_per_tran', 'zIIP per transaction, all groups', null, false),
    (15, 'transaction_cpu_pct', 'Transaction CPU (transaction APPL%)', null, true),
    (16, 'mobile_cpu_pct', 'Mobile CPU (mobile APPL%)', null, true),
    (17, '(.+)_ziip_us_per_tran', 'zIIP per transaction', null, false),
    (18, '(.+)_cpu_us_per_tran', 'CPU per transaction', 'lower', false),
    (19, 'total_(.+)_cpu_pct', 'CPU of all groups', null, true),
    (20, 'total_(.+)_response_ms', 'Response', 'lower', false),
    (21, '(.+)_response_(?:ms|s|us)', 'Response', 'lower', false),
    (22, '(.+)_cpu_pct', 'CPU', null, true),
    (23, '(.+)_tps', 'Transaction rate', 'higher', true),
    (24, '(.+)_us_per_(?:tran|kb|request|message)', 'Cost', 'lower', false),
    (25, '(?:(.+)_)?elapsed_(?:ms|s|us|min)', 'Elapsed time', 'lower', false),
    (26, 'msc_send_s', 'Time to send all messages', 'lower', false),
    (27, 'msc_receive_s', 'Time to receive all messages', 'lower', false),
    (28, 'transit_ms', 'Transit time', 'lower', false),
    (29, '(.+)_queue_ms', 'Time on a queue', 'lower', false),
    (30, 'response_avg_s', 'Response, mean', 'lower', false),
    (31, 'response_p90_s', 'Response, 90th percentile', 'lower', false),
    (33, 'storage_kb', 'Storage in use, mean', 'lower', true),
    (34, 'storage_max_kb', 'Storage in use, largest', 'lower', true),
    (35, 'buffers_max', 'Buffers in use, most', null, true),
    (36, 'excps', 'I/O requests (EXCPs)', 'lower', true),
    (37, 'cpu_s', 'CPU time', 'lower', true),
    (38, 'ftp_bytes_per_s', 'FTP throughput', 'higher', true),
    (39, 'dasd_io_per_s', 'Disk I/O rate', null, true),
    (40, 'dasd_response_ms', 'Disk response', 'lower', false),
    (43, '(.+)_change_pct', 'Change against the baseline', null, false)
  ) t (precedence, pattern, label, better, follows_load)
),

metric as (
  select metric, min(unit) as unit from {{ ref('fct_point_metric') }} group by metric
),

described as (
  select m.metric, m.unit, p.precedence, p.label, p.better, coalesce(p.follows_load, false) as follows_load,
    case when p.pattern like '%(.+)%' then nullif(regexp_extract(m.metric, p.pattern, 1), '') end as subject
  from metric m
  left join pattern p on regexp_full_match(m.metric, p.pattern)
  qualify row_number() over (partition by m.metric order by p.precedence) = 1
)

select
  metric::varchar as metric,
  coalesce(precedence, 1000)::integer as place,
  (case when label is null then replace(metric, '_', ' ') when subject is null then label
    else label || ': ' || replace(subject, '_', ' ') end)::varchar as label,
  unit::varchar as unit,
  better::varchar as better,
  follows_load::boolean as follows_load,
  subject::varchar as subject
from described
