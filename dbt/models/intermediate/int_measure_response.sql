-- Response times as seen outside of z/OS or by performance analyzers: a load driver, CICS PA and IMS PA.
-- Standard deviations of the load driver are those of all transactions of the row's subject, of CICS those of a sample.
-- Classes of CICS transactions come from task records (SMF 110.1); CICS PA's summary speaks where there are none.
with driven as (
  select distinct r.system_id, r.point, r.condition, t.file_id, t.record_seq, t.transaction_name, t.phase, t.status,
    t.response_s, t.transactions
  from {{ ref('stg_load_driver_transaction') }} t
  join {{ ref('int_run') }} r on {{ during_run('r', 't.start_utc') }}
),

-- Each transaction counts in the whole run, and beside it in the phase it fell in; all together in the total.
driven_subject as (
  select *, unnest([
    transaction_name, 'total', transaction_name || ' ' || nullif(phase, '')
  ]) as subject
  from driven
),

counted as (
  select system_id, point, condition, subject, unnest({{ measures_of('load_driver') }}, recursive := true)
  from driven_subject
  where subject is not null
  group by system_id, point, condition, subject
),

timed as (
  select system_id, point, condition, subject, response_s, sum(transactions) as n
  from driven_subject
  where subject is not null and subject <> 'total' and status = 'pass' and response_s is not null
  group by all
),

ranked as (
  select *,
    sum(n) over (partition by system_id, point, condition, subject order by response_s) as up_to,
    sum(n) over (partition by system_id, point, condition, subject) as of_all,
    sum(n * response_s) over (partition by system_id, point, condition, subject)
      / sum(n) over (partition by system_id, point, condition, subject) as mean_s
  from timed
),

response as (
  select system_id, point, condition, subject, unnest([
    {{ measure('response_min_s') }}, {{ measure('response_avg_s') }}, {{ measure('response_max_s') }},
    {{ measure('response_stddev_s') }}, {{ measure('response_p90_s') }}
  ], recursive := true)
  from (
    select system_id, point, condition, subject, min(response_s) as min_s, any_value(mean_s) as average_s,
      max(response_s) as max_s, sqrt(sum(n * power(response_s - mean_s, 2)) / sum(n)) as deviation_s,
      min(response_s) filter (where up_to >= 0.9 * of_all) as p90_s
    from ranked
    group by system_id, point, condition, subject
  )
),

graph as (
  select system_id, point, condition, subject, unnest({{ measures_of('graph') }}, recursive := true)
  from (
    select distinct r.system_id, r.point, r.condition, s.graph || ' ' || s.series as subject, s.file_id, s.record_seq, s.value
    from {{ ref('stg_load_driver_sample') }} s
    join {{ ref('int_run') }} r on {{ during_run('r', 's.sampled_utc') }}
  )
  group by system_id, point, condition, subject
),

-- Tasks in which transactions began, by the second in which they ended.
task_second as (
  select smf_sid, ended_second, service_class, report_class,
    count(*) as tasks,
    sum(response_s) as total_s,
    sum(power(response_s, 2)) as squares_s2,
    max(response_s) as max_s
  from (
    select smf_sid, nullif(service_class, '') as service_class, nullif(report_class, '') as report_class,
      time_bucket(interval '1 second', stop_utc) as ended_second,
      date_diff('microsecond', start_utc, stop_utc) / 1e6 as response_s
    from {{ source('staging', 'stg_smf110_1_performance') }}
    where coalesce(record_kind, '') in ('', 'T') and (service_class <> '' or report_class <> '') and {{ is_origin() }}
  )
  group by smf_sid, ended_second, service_class, report_class
),

task_class as (
  select system_id, point, condition, subject, sum(tasks) as tasks, sum(total_s) / sum(tasks) as average_s,
    sum(squares_s2) as squares_s2, max(max_s) as max_s
  from (
    select r.system_id, r.point, r.condition, t.tasks, t.total_s, t.squares_s2, t.max_s,
      unnest(['service class ' || t.service_class, 'report class ' || t.report_class]) as subject
    from task_second t
    join {{ ref('int_run') }} r on {{ at_run('r', 't.smf_sid', 't.ended_second') }}
  )
  where subject is not null
  group by system_id, point, condition, subject
),

listed_class as (
  select system_id, point, condition, class_kind || ' ' || class_name as subject,
    sum(tasks) as tasks,
    sum(tasks * average_s) / sum(tasks) as average_s,
    sum((tasks - 1) * power(coalesce(deviation_s, 0), 2) + tasks * power(average_s, 2)) as squares_s2,
    max(max_s) as max_s
  from (
    select distinct r.system_id, r.point, r.condition, c.*
    from {{ ref('stg_cics_pa_class') }} c
    join {{ ref('int_run') }} r on {{ during_run('r', 'c.start_utc') }}
    where c.tasks > 0
  )
  group by all
),

class_total as (
  select * from task_class
  union all by name
  select l.* from listed_class l anti join task_class t using (system_id, point, condition, subject)
),

class_deviation as (
  select *, case when tasks > 1 then sqrt(greatest(squares_s2 - tasks * power(average_s, 2), 0) / (tasks - 1)) end
    as deviation_s
  from class_total
),

class_response as (
  select system_id, point, condition, subject, unnest([
    {{ measure('tasks') }}, {{ measure('response_avg_s') }}, {{ measure('response_stddev_s') }},
    {{ measure('response_peak90_s') }}, {{ measure('response_max_s') }}
  ], recursive := true)
  from class_deviation
),

transit as (
  select system_id, point, condition, ims_id as subject, unnest({{ measures_of('ims_transit') }}, recursive := true)
  from (
    select distinct r.system_id, r.point, r.condition, t.*
    from {{ ref('stg_ims_pa_transaction') }} t
    join {{ ref('int_run') }} r on {{ during_run('r', 'try_cast(t.start_time as timestamp)') }}
  )
  where ims_id is not null
  group by system_id, point, condition, ims_id
),

-- Of several IMS systems together: the mean of theirs, not weighted, as the studies take it.
mean_transit as (
  select system_id, point, condition, 'mean of all' as subject, metric, unit, aggregation, scale,
    avg(numerator) as numerator, 1 as denominator
  from transit
  group by system_id, point, condition, metric, unit, aggregation, scale
  having count(numerator) > 1
)

select system_id, point, condition, true as is_run, 1 as position, null::double as seconds, null::varchar as workload,
  subject, metric, unit, aggregation, scale, coalesce(numerator, 0) as numerator, denominator
from (
  select * from counted
  union all by name
  select * from response
  union all by name
  select * from graph
  union all by name
  select * from class_response
  union all by name
  select * from transit where numerator is not null
  union all by name
  select * from mean_transit
)
