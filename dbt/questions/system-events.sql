-- When were systems started, and when did SMF lose records?
select system_id, smf_sid, event, event_start_local, event_end_local, records_lost, os_level
from marts.fct_system_event
order by event_end_local desc, smf_sid
limit 40
