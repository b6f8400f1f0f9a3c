-- Is central storage short, and when?
-- If it is, few frames are available, the unreferenced interval falls, and pages come in.
select system_id, smf_sid, max(frames) as frames, round(min(100 * frames_available_min / frames), 1) as available_min_pct,
  arg_min(interval_start_local, frames_available_min) as fewest_at, round(max(100 * frames_fixed / frames), 1) as fixed_max_pct,
  min(unreferenced_interval_min_s) as unreferenced_interval_min_s, sum(page_ins) as page_ins,
  round(max(page_ins_per_s), 3) as page_ins_per_s_max
from marts.fct_central_storage
group by system_id, smf_sid
order by page_ins_per_s_max desc nulls last, available_min_pct, system_id, smf_sid
limit 12
