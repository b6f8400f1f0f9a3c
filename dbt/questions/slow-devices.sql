-- Which devices are slow, and why?
-- Components of the response of the devices that carry the most waiting, as each LPAR sees them.
select system_id, smf_sid, subchannel_set, device_number, volume_serial,
  round(sum(requests) / sum(interval_s), 1) as requests_per_s,
  round(sum(response_ms * requests) / sum(requests), 3) as response_ms,
  round(sum(ios_queue_ms * requests) / sum(requests), 3) as ios_queue_ms,
  round(sum(pending_ms * requests) / sum(requests), 3) as pending_ms,
  round(sum(disconnect_ms * requests) / sum(requests), 3) as disconnect_ms,
  round(sum(connect_ms * requests) / sum(requests), 3) as connect_ms
from marts.fct_device
where response_ms is not null
group by all
order by sum(fct_device.response_ms * requests) / sum(interval_s) desc nulls last, smf_sid, subchannel_set, device_number
limit 10
