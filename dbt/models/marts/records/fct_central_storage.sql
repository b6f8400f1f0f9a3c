select
  {{ interval_key('p.smf_sid', 'p.interval_start_utc', 'p.interval_start_local') }}::varchar as interval_key,
  coalesce(o.system_id, p.smf_sid)::varchar as system_id,
  p.smf_sid::varchar as smf_sid,
  p.interval_start_utc::timestamp as interval_start_utc,
  p.interval_start_local::timestamp as interval_start_local,
  p.interval_s::double as interval_s,
  p.frames_total::double as frames,
  p.available_frames_avg::double as frames_available,
  p.available_frames_min::double as frames_available_min,
  p.fixed_frames_avg::double as frames_fixed,
  p.uic_avg_s::double as unreferenced_interval_s,
  p.uic_low_s::double as unreferenced_interval_min_s,
  (p.page_ins + coalesce(p.block_page_ins, 0) + coalesce(p.shared_page_ins, 0))::double as page_ins,
  p.page_outs::double as page_outs,
  ({{ ratio('p.page_ins + coalesce(p.block_page_ins, 0) + coalesce(p.shared_page_ins, 0)', 'p.interval_s') }})::double
    as page_ins_per_s
from {{ first_written(source('staging', 'stg_smf71_paging')) }} p
left join {{ ref('int_owner') }} o on o.smf_sid = p.smf_sid
