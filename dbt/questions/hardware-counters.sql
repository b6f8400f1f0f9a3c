-- How do the caches of the processor serve the work, hour by hour?
-- Cycles per instruction grow with other work on the CPC. The part lost in caches shows the reason. The relative nest
-- intensity, available for the z13, shows the distance of the data.
select system_id, engine_type, extract(hour from interval_start_utc) as hour_utc, round(sum(active_s), 3) as active_s,
  round(sum(instructions * cycles_per_instruction) / nullif(sum(instructions), 0), 3) as cycles_per_instruction,
  round(sum(instructions * finite_cycles_per_instruction) / nullif(sum(instructions), 0), 3) as lost_in_caches,
  round(sum(instructions * l1_miss_pct) / nullif(sum(instructions), 0), 1) as l1_miss_pct,
  round(sum(instructions * l1_miss_pct * relative_nest_intensity)
    / nullif(sum(instructions * l1_miss_pct) filter (where relative_nest_intensity is not null), 0), 2)
    as relative_nest_intensity
from marts.fct_hardware_counter
group by system_id, engine_type, hour_utc
order by system_id, engine_type, hour_utc
limit 24
