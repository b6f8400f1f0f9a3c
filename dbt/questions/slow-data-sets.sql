-- Which data sets does work wait for most, and does the cache serve them?
-- SMF 42.6: I/Os times response, over all hours and jobs; response in ms with its parts.
select system_id, data_set_name, volume_serial, max(storage_class) as storage_class, sum(ios) as ios,
  round(sum(ios * data_set_response_ms) / 1e3, 1) as waited_s,
  round(sum(ios * data_set_response_ms) / nullif(sum(ios), 0), 3) as response_ms,
  round(sum(ios * data_set_disconnect_ms) / nullif(sum(ios), 0), 3) as disconnect_ms,
  round(100 * sum(cache_hits) / nullif(sum(cache_candidates), 0), 1) as cache_hit_pct
from marts.fct_data_set_io
group by system_id, data_set_name, volume_serial
order by waited_s desc nulls last, data_set_name
limit 12
