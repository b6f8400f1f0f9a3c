-- CPU of an address space between two SMF 30 interval records, divided by seconds over the RMF intervals it meets; one
-- of which it has less than a twentieth in common does not count.
-- Subtypes 2 and 3 count since the previous interval; subtype 6 (system address spaces) counts since the address
-- space started, so the previous record is subtracted and the first one, whose span is unknown, is left out. It is the
-- first of an address space that was started anew, too: after an IPL it counts less than the one before.
-- Times are store clocks; leap seconds that they include are taken out. A record whose interval ends before it begins is
-- damaged, and is left out.
with records as (
  select
    h.file_id, h.record_seq, h.smf_sid, h.subtype, h.written_local,
    trim(i.job_name) as job_name, trim(i.program_name) as program_name, trim(i.step_name) as step_name, i.asid,
    i.step_start_date + to_microseconds(i.step_start_clock_us::bigint) as started_local,
    i.interval_begin_utc - to_seconds(coalesce(k.leap_s, 0)) as interval_begin_utc,
    i.interval_end_utc - to_seconds(coalesce(k.leap_s, 0)) as interval_end_utc,
    nullif(trim(p.service_class), '') as service_class,
    nullif(trim(p.report_class), '') as report_class,
    nullif(trim(p.workload), '') as wlm_workload,
    c.cpu_tcb_us, c.cpu_srb_us, c.io_interrupt_us, c.region_control_us, c.hiperspace_us, c.ziip_us, c.ziip_on_cp_us
  from {{ source('staging', 'stg_smf30_header') }} h
  join {{ source('staging', 'stg_smf30_identification') }} i using (file_id, record_seq)
  join {{ source('staging', 'stg_smf30_cpu') }} c using (file_id, record_seq)
  left join {{ source('staging', 'stg_smf30_performance') }} p using (file_id, record_seq)
  left join {{ ref('int_clock') }} k on k.smf_sid = h.smf_sid
  where h.subtype in (2, 3, 6)
),

counted as (
  select *, count(*) over same_interval as copies
  from records
  window same_interval as (
    partition by smf_sid, subtype, job_name, step_name, asid, interval_begin_utc, interval_end_utc
  )
  qualify row_number() over (same_interval order by written_local, file_id, record_seq) = 1
),

spans as (
  select
    * replace (
      {% for column in ['cpu_tcb_us', 'cpu_srb_us', 'io_interrupt_us', 'region_control_us', 'hiperspace_us', 'ziip_us',
                        'ziip_on_cp_us'] -%}
      case when subtype = 6 then {{ column }} - lag({{ column }}) over address_space else {{ column }} end
        as {{ column }},
      {% endfor -%}
      case when subtype <> 6 then interval_begin_utc
        when least(cpu_tcb_us - lag(cpu_tcb_us) over address_space, cpu_srb_us - lag(cpu_srb_us) over address_space) >= 0
        then lag(interval_end_utc) over address_space end as interval_begin_utc
    )
  from counted
  window address_space as (partition by smf_sid, subtype, job_name, asid, started_local order by interval_end_utc)
),

span_hour as (
  select file_id, record_seq, smf_sid, interval_begin_utc as start_utc,
    date_diff('microsecond', interval_begin_utc, interval_end_utc) / 1e6 as span_s,
    unnest({{ hours_touched('interval_begin_utc', 'span_s') }}) as hour
  from spans
  where interval_begin_utc is not null
),

interval_hour as (
  select interval_key, smf_sid, interval_start_utc, interval_s,
    unnest({{ hours_touched('interval_start_utc', 'interval_s') }}) as hour
  from {{ ref('int_interval') }}
  where interval_start_utc is not null
),

met as (
  select s.file_id, s.record_seq, n.interval_key, n.interval_start_utc,
    {{ end_utc('n.interval_start_utc', 'n.interval_s') }} as interval_end_utc,
    {{ overlap_s('s.start_utc', 's.span_s', 'n.interval_start_utc', 'n.interval_s') }} as common_s,
    common_s / sum(common_s) over (partition by s.file_id, s.record_seq) as share
  from span_hour s
  join interval_hour n
    on n.smf_sid = s.smf_sid and n.hour = s.hour
    and {{ first_common_hour('s.hour', 's.start_utc', 'n.interval_start_utc') }}
  where common_s >= 0.05 * least(s.span_s, n.interval_s) and s.start_utc < interval_end_utc
)

select
  s.smf_sid,
  n.interval_key,
  s.job_name,
  s.program_name,
  s.asid,
  s.started_local,
  s.service_class,
  s.report_class,
  s.wlm_workload,
  case when n.share < 1 then greatest(s.interval_begin_utc, n.interval_start_utc) else s.interval_begin_utc end
    as interval_begin_utc,
  case when n.share < 1 then least(s.interval_end_utc, n.interval_end_utc) else s.interval_end_utc end as interval_end_utc,
  s.copies,
  {% for column, field in [('tcb_s', 'cpu_tcb_us'), ('srb_s', 'cpu_srb_us'), ('region_control_s', 'region_control_us'),
      ('io_interrupt_s', 'io_interrupt_us'), ('hiperspace_s', 'hiperspace_us'), ('ziip_s', 'ziip_us'),
      ('ziip_on_cp_s', 'ziip_on_cp_us')] -%}
  coalesce(n.share, 1) * s.{{ field }} / 1e6 as {{ column }},
  {% endfor -%}
  coalesce(n.share, 1) * {{ address_space_cp_s('s') }} as cp_s
from spans s
left join met n using (file_id, record_seq)
where s.interval_begin_utc is not null and s.interval_end_utc >= s.interval_begin_utc
