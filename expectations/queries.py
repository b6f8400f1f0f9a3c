"""The queries behind the frames: name, title, columns that say where a row is, SQL over the warehouse."""

from __future__ import annotations

from expectations.rules import (
    FEWEST_COUNTED,
    LEAST_CLOCK_STEP_S,
    MOST_BUSY_WITH_ROOM,
    MOST_CLOCK_STEP_S,
    SLACK,
)

#: A moment as a planner reads it.
_AT = "strftime({}, '%Y-%m-%d %H:%M:%S')"
_INTERVAL = _AT.format("coalesce(interval_start_utc, interval_start_local)")

QUERIES: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    (
        "ledger",
        "Files with the accounting of their bytes and records",
        ("file", "message"),
        """
        select path as file, coalesce(replace(message, path || ': ', ''), '') as message, status,
          quarantined::bigint as quarantined,
          case when status = 'failed' then 0 else
            records::bigint - decoded::bigint - skipped::bigint - quarantined::bigint end as records_unaccounted,
          case when status = 'failed' then 0 else bytes::bigint - decoded_bytes::bigint - skipped_bytes::bigint
            - quarantined_bytes::bigint - framing_bytes::bigint end as bytes_unaccounted
        from meta.ledger
        where status <> 'superseded'
        order by path
        """,
    ),
    (
        "interval_sequence",
        "Each interval compared with the intervals before it, of all record types, by system",
        ("system", "interval", "records", "file"),
        f"""
        with recorded as (
          select 'SMF ' || r.record_type as records, n.system_id, n.smf_sid, '' as job, null::timestamp as started,
            n.point, n.condition, coalesce(n.interval_start_utc, n.interval_start_local) as start_at,
            n.interval_start_local as start_local, max(n.interval_s) as seconds,
            min(r.file_id) as file_id
          from intermediate.int_record r
          join marts.dim_interval n using (interval_key)
          group by all
          union all
          select 'RMF ' || r.report, n.system_id, n.smf_sid, '', null, n.point, n.condition, r.interval_start_local,
            r.interval_start_local, max(r.interval_s), min(r.file_id)
          from intermediate.int_report r
          join marts.dim_interval n using (interval_key)
          group by all
          union all
          select 'SMF 30', n.system_id, j.smf_sid, j.job_name || ' ' || coalesce(j.asid::varchar, ''),
            j.started_local, n.point, n.condition, j.interval_begin_utc,
            j.interval_begin_utc + (n.interval_start_local - n.interval_start_utc),
            (epoch_us(j.interval_end_utc) - epoch_us(j.interval_begin_utc)) / 1e6, null
          from intermediate.int_job_interval j
          join marts.dim_interval n using (interval_key)
        ),
        steps as (
          -- Nothing need be measured between two runs; around and within a run an interval follows the one before it.
          select *, case when run is null or coalesce(lag(run) over system, run) = run
            then epoch_us(start_at) / 1e6 - lag(epoch_us(start_at) / 1e6 + seconds) over system end as step_s
          from (select *, system_id || ' ' || point || ' ' || condition as run from recorded)
          window system as (partition by records, smf_sid, job, started order by start_at)
        ),
        outages as (
          -- While a system was down nothing is missing.
          select distinct records, smf_sid, job, start_at
          from steps join marts.fct_gap using (smf_sid)
          where step_s > 1 and ipl_local is not null and gap_start_local < start_local
            and gap_end_local > start_local - to_seconds(step_s)
        )
        -- What is missing or overlaps in several record types, or of several jobs, is one loss: one row an interval.
        select system, {_AT.format("start_at")} as interval,
          string_agg(records || case when jobs > 0 then ' of ' || jobs || if(jobs = 1, ' job', ' jobs') else '' end,
            ', ' order by records) as records,
          max(file) as file, max(hole_s) as hole_s, max(overlap_s) as overlap_s
        from (
          select smf_sid as system, start_at, records, count(*) filter (job <> '') as jobs,
            coalesce(arg_max(path, abs(step_s)), '') as file,
            max(case when o.smf_sid is null then step_s end) as hole_s, max(-step_s) as overlap_s,
            round(step_s / 60) as minutes
          from steps
          left join outages o using (records, smf_sid, job, start_at)
          left join meta.ledger using (file_id)
          group by smf_sid, start_at, records, minutes
        )
        group by system, start_at, minutes
        order by system, interval
        """,
    ),
    (
        "lost_records",
        "Periods in which SMF lost records, by system",
        ("system", "last_written", "records_lost"),
        f"""
        select n.smf_sid as system, coalesce({_AT.format("max(e.event_end_local)")}, '') as last_written,
          coalesce(sum(e.records_lost), 0)::bigint as records_lost,
          coalesce(sum(date_diff('second', e.event_start_local, e.event_end_local)), 0)::double as lost_s
        from (select distinct smf_sid from marts.dim_interval) n
        left join marts.fct_system_event e on e.smf_sid = n.smf_sid and e.event = 'records lost'
        group by n.smf_sid
        order by n.smf_sid
        """,
    ),
    (
        "overlaps",
        "Records that two files have in common, and the file in which they count",
        ("file", "counted_in"),
        """
        select own.path as file, coalesce(other.path, '') as counted_in, own.records::bigint as records,
          count(shared.record_seq) as records_shared
        from meta.ledger as own
        left join meta.record_overlap as shared on shared.file_id = own.file_id and counted_in <> own.file_id
        left join meta.ledger as other on other.file_id = shared.counted_in
        where own.status <> 'superseded'
        group by all
        order by file, counted_in
        """,
    ),
    (
        "held_back",
        "Records that were held back, by system and day",
        ("system", "day", "file", "reason"),
        """
        select smf_sid as system, coalesce(strftime(day, '%Y-%m-%d'), '') as day, coalesce(path, '') as file,
          coalesce(reason, '') as reason, coalesce(held.records, 0)::bigint as records
        from (select distinct smf_sid from marts.dim_interval)
        full join meta.held_back as held using (smf_sid)
        left join meta.ledger using (file_id)
        order by system, day, file
        """,
    ),
    (
        "duplicates",
        "Records by number of copies",
        ("system", "records", "interval", "file"),
        f"""
        with copied as (
          select smf_sid as system, 'SMF ' || record_type || ' ' || class_name as records,
            coalesce(interval_start_utc, interval_start_local) as start_at, copies, file_id
          from intermediate.int_record
          union all
          select smf_sid, 'RMF ' || report, interval_start_local, copies, file_id from intermediate.int_report
          union all
          select smf_sid, 'SMF 30 ' || job_name, interval_begin_utc, copies, null from intermediate.int_job_interval
        )
        select system, trim(copied.records) as records, {_AT.format("start_at")} as interval,
          coalesce(path, '') as file, copies
        from copied
        left join meta.ledger using (file_id)
        order by copies desc, system, interval
        """,
    ),
    (
        "job_intervals",
        "SMF 30 interval records that do not end after they begin",
        ("file", "job", "record"),
        """
        select coalesce(path, '') as file, count(*) filter (backwards) as backwards,
          coalesce(trim(arg_min(i.job_name, i.record_seq) filter (backwards)), '') as job,
          min(i.record_seq) filter (backwards) as record
        from (
          select *, interval_end_utc < interval_begin_utc as backwards
          from staging.stg_smf30_identification
          join staging.stg_smf30_header using (file_id, record_seq)
          where subtype in (2, 3)
        ) i
        left join meta.ledger using (file_id)
        group by path
        order by path
        """,
    ),
    (
        "utilization",
        "Busy of the engines per interval",
        ("system", "interval", "engine_type"),
        f"""
        select smf_sid as system, system_id, {_INTERVAL} as interval, engine_type, engines, cpu_busy_pct, lpar_busy_pct,
          mvs_busy_pct
        from marts.fct_interval_utilization
        order by system, interval, engine_type
        """,
    ),
    (
        "waits",
        "Wait and dispatch times of CPs by day, for LPARs with shared CPs and one thread",
        ("system", "day"),
        f"""
        with cpc as (
          select cpc, interval_start_utc, max(shared_engines) as engines,
            sum(dispatch_s) / nullif(max(shared_engines * interval_s), 0) as part_busy
          from marts.fct_cpc_interval
          where engine_type = 'CP'
          group by all
        ),
        partition as (
          select interval_key, bool_or(is_wait_completion) as is_wait_completion,
            bool_and(part_busy <= {MOST_BUSY_WITH_ROOM} and engines > 1 and coalesce(capped_pct, 0) = 0) as has_room
          from marts.fct_cpc_interval
          join cpc using (cpc, interval_start_utc)
          where engine_type = 'CP' and interval_key is not null
          group by interval_key
        ),
        engines as (
          select n.smf_sid as system, strftime(n.interval_start_local, '%Y-%m-%d') as day, e.online_s, p.has_room,
            case when e.source = 'record' and e.dedicated_engines = 0 and coalesce(e.thread_density, 1) <= 1
              and not coalesce(p.is_wait_completion, false) then e.mvs_busy_s - e.lpar_busy_s end as ready_s
          from intermediate.int_engine_interval e
          join marts.dim_interval n using (interval_key)
          left join partition p using (interval_key)
          where e.engine_type = 'CP'
        )
        select system, day, -100 * sum(ready_s) / sum(online_s) as dispatched_waiting_pct,
          100 * sum(ready_s) filter (has_room) / nullif(sum(online_s) filter (has_room), 0) as ready_with_room_pct
        from engines
        group by system, day
        order by system, day
        """,
    ),
    (
        "clocks",
        "Local time of intervals against the offset from UTC and the store clock, by system and day",
        ("system", "day"),
        f"""
        select smf_sid as system, strftime(interval_start_local, '%Y-%m-%d') as day,
          count(distinct interval_start_local)
            filter (abs(store_clock_ahead_s) between {LEAST_CLOCK_STEP_S} and {MOST_CLOCK_STEP_S}) as intervals_off
        from staging.stg_smf70_1_control
        where interval_start_local is not null
        group by system, day
        order by system, day
        """,
    ),
    (
        "pairing",
        "Whether intervals have both their CPU and their workload records",
        ("system", "interval", "records"),
        f"""
        select smf_sid as system, {_AT.format("min(coalesce(interval_start_utc, interval_start_local))")} as interval,
          string_agg(distinct 'SMF ' || record_type, ', ' order by 'SMF ' || record_type) as records,
          count(distinct record_type) = 2 as has_both
        from intermediate.int_record
        group by smf_sid, interval_key
        order by system, interval
        """,
    ),
    (
        "capture",
        "CPU of the service classes against busy of the engines per interval",
        ("system", "interval"),
        f"""
        with classes as (
          select interval_key, sum(appl_cp_pct) / 100 * any_value(interval_s) as captured_s
          from marts.fct_transaction_cost
          where class_kind = 'service_class' and source = 'record'
          group by interval_key
        )
        select smf_sid as system, {_INTERVAL} as interval, busy_s, captured_s,
          captured_s / nullif(busy_s, 0) as capture_ratio,
          case when cpu_busy_pct >= 10 then captured_s / nullif(busy_s, 0) end as capture_ratio_when_busy
        from marts.fct_interval_utilization
        join classes using (interval_key)
        where engine_type = 'CP'
        order by system, interval
        """,
    ),
    (
        "address_spaces",
        "CPU of the address spaces against busy of the engines by day",
        ("system", "day"),
        """
        with address_space as (
          select interval_key, sum(cp_s) as cp_s from intermediate.int_job_interval group by interval_key
        )
        select smf_sid as system, strftime(interval_start_local, '%Y-%m-%d') as day, sum(busy_s) as busy_s,
          sum(cp_s) as address_space_s, sum(cp_s) / nullif(sum(busy_s), 0) as part_of_busy
        from marts.fct_interval_utilization
        join address_space using (interval_key)
        where engine_type = 'CP'
        group by system, day
        order by system, day
        """,
    ),
    (
        "counts",
        "Transactions of a class compared with the number that its CPU usually indicates, by interval",
        ("system", "interval", "class_kind", "class_name"),
        f"""
        with measured as (
          select smf_sid as system, {_INTERVAL} as interval, class_kind, class_name, cp_s, transactions_ended as ended,
            median(cp_s / nullif(transactions_ended, 0)) over (
              partition by system_id, smf_sid, class_kind, class_name) as usual_s
          from intermediate.int_class_interval
          join marts.dim_interval using (interval_key)
        )
        select system, interval, class_kind, class_name, ended, cp_s / nullif(usual_s, 0) as expected,
          case when greatest(ended, expected) >= {FEWEST_COUNTED}
            then greatest(ended, expected) / greatest(least(ended, expected), 1) end as times_apart
        from measured
        where ended is not null and cp_s is not null
        order by system, interval, class_kind, class_name
        """,
    ),
    (
        "responses",
        "Mean response time of a service class compared with its distribution, by day: the worst agreement",
        ("system", "interval", "class_name"),
        f"""
        with ended as (
          select i.smf_sid as system, i.interval_start_local::date as day, p.class_name,
            {_AT.format("coalesce(i.interval_start_utc, i.interval_start_local)")} as interval,
            p.elapsed_us / 1000 / p.transactions_ended as response_ms,
            coalesce(nullif(p.response_midpoint_ms, 0), p.goal_ms) / 100 / p.transactions_ended as unit_ms,
            l.buckets as limits, d.buckets as counts
          from intermediate.int_class_period p
          join marts.dim_interval i using (interval_key)
          join staging.stg_smf72_3_response_distribution l
            on l.file_id = p.file_id and l.record_seq = p.record_seq and l.section_seq = 0
          join staging.stg_smf72_3_response_distribution d
            on d.file_id = p.file_id and d.record_seq = p.record_seq and d.section_seq = p.response_distribution_index
          where p.response_distribution_index > 0 and p.class_kind = 'service_class'
            and p.transactions_ended >= {FEWEST_COUNTED} and list_sum(d.buckets) = p.transactions_ended
            and len(l.buckets) = len(d.buckets)
        ),
        bounded as (
          -- The last bucket has no upper limit.
          select *, unit_ms
              * list_dot_product(counts::double[], list_prepend(0, limits[1 : len(limits) - 1])::double[]) as least_ms,
            case when counts[-1] = 0 then list_dot_product(counts::double[], limits::double[]) * unit_ms end as most_ms
          from ended
        )
        select system, arg_max(interval, times_off) as interval, class_name,
          arg_max(response_ms, times_off) as response_ms, arg_max(least_ms, times_off) as least_ms,
          arg_max(most_ms, times_off) as most_ms, max(times_off) as times_off
        from (
          select *, greatest(response_ms / most_ms, least_ms / nullif(response_ms, 0)) as times_off from bounded
        )
        where times_off is not null
        group by system, day, class_name
        order by system, day, class_name
        """,
    ),
    (
        "msu",
        "MSU of the service classes against those of their LPAR per interval",
        ("system", "interval"),
        f"""
        with classes as (
          select interval_key, sum(cp_msu) as class_msu
          from marts.fct_service_class
          where class_kind = 'service_class'
          group by interval_key
        )
        select name as system, {_INTERVAL} as interval, class_msu, msu as lpar_msu,
          class_msu / nullif(msu, 0) as class_share
        from marts.fct_msu
        join classes using (interval_key)
        where scope = 'lpar' and fct_msu.source = 'record'
        order by system, interval
        """,
    ),
    (
        "transactions",
        "Cost of transactions per interval, by workload and class",
        ("system", "interval", "class_kind", "class_name"),
        f"""
        select smf_sid as system, {_INTERVAL} as interval, class_kind, class_name, response_ms,
          busy_s,
          case when class_kind = 'workload' then
            1.005 * busy_s - sum(appl_cp_pct / 100 * interval_s) over (partition by interval_key, class_kind) end
            as left_over_s
        from marts.fct_transaction_cost
        left join (select interval_key, busy_s from marts.fct_interval_utilization where engine_type = 'CP')
          using (interval_key)
        where transactions_ended > 0
        order by system, interval, class_kind, class_name
        """,
    ),
    (
        "runs",
        "Measured points and the recorded share of their time",
        ("system", "point", "condition"),
        """
        select r.smf_sid as system, r.point, r.condition,
          100 * coalesce(sum(n.interval_s), 0) / (epoch_us(r.end_utc) - epoch_us(r.start_utc)) * 1e6 as covered_pct
        from intermediate.int_run r
        left join marts.dim_interval n
          on n.smf_sid = r.smf_sid and n.system_id = r.system_id and n.point = r.point and n.condition = r.condition
        group by r.smf_sid, r.point, r.condition, r.start_utc, r.end_utc
        order by system, r.point
        """,
    ),
    (
        "reconciliation",
        "Figures computed from SMF records and printed by RMF for the same interval",
        ("system", "interval", "subject", "field"),
        f"""
        select smf_sid as system, {_AT.format("interval_start_local")} as interval, report || ' ' || subject as subject,
          field, etalon_value, rmf_value, excess_pct
        from marts.fct_rmf_reconciliation
        order by system, interval, subject, field
        """,
    ),
    (
        "groups",
        "Patterns of the groups files and their matches",
        ("system", "kind", "pattern"),
        """
        with names as (
          select distinct n.system_id, n.smf_sid, c.class_kind as kind, c.class_name as name
          from intermediate.int_class_interval c
          join marts.dim_interval n using (interval_key)
          union all
          select distinct n.system_id, n.smf_sid, 'job_name', j.job_name
          from intermediate.int_job_interval j
          join marts.dim_interval n using (interval_key)
        )
        select g.system_id as system, g.kind, g.pattern, count(n.name) as matches
        from intermediate.int_group g
        left join names n
          on n.system_id = g.system_id and (g.smf_sid is null or g.smf_sid = n.smf_sid) and n.name like g.pattern
          and (n.kind = g.kind or g.kind = 'transaction_class' and n.kind in ('report_class', 'service_class'))
        where g.system_id in (select system_id from marts.dim_interval)
        group by g.system_id, g.kind, g.pattern
        order by system, kind, pattern
        """,
    ),
    (
        "transaction_classes",
        "Systems with measured points: classes with ended transactions, and those that the groups files name",
        ("system",),
        """
        with measured as (
          select distinct n.system_id
          from intermediate.int_run r
          join marts.dim_interval n using (system_id, smf_sid, point, condition)
          join intermediate.int_class_interval c using (interval_key)
          where c.transactions_ended > 0
        )
        select m.system_id as system, count(distinct g.pattern) as transaction_classes
        from measured m
        left join intermediate.int_group g on g.system_id = m.system_id and g.kind = 'transaction_class'
        group by m.system_id
        order by system
        """,
    ),
    (
        "metrics",
        "Metrics of measured points and of marts with a domain, and the number of values outside it",
        ("metric", "system", "point", "subject"),
        f"""
        with judged as (
          select p.*,
            p.value < d.lowest - {SLACK} * abs(d.lowest) or p.value > d.highest + {SLACK} * abs(d.highest) as is_outside
          from marts.fct_point_metric p
          join marts.dim_metric d using (metric)
          where d.lowest is not null or d.highest is not null
        )
        select metric, count(*) as values, count(*) filter (where is_outside) as outside,
          coalesce(min(system_id) filter (where is_outside), '') as system,
          coalesce(arg_min(point, system_id) filter (where is_outside), '') as point,
          coalesce(arg_min(concat_ws(' ', workload, subject), system_id) filter (where is_outside), '') as subject
        from judged
        group by metric
        order by metric
        """,
    ),
    (
        "points",
        "Measured points",
        ("system", "point", "condition", "workload"),
        """
        select system_id as system, point, condition, coalesce(workload, '') as workload,
          concat_ws(' | ', system_id, point, condition, coalesce(workload, '')) as point_key,
          case when workload is not null and is_run then coalesce(etr_tps, 0) end as etr_tps
        from marts.fct_point
        order by system, point
        """,
    ),
)
