select file_id, record_seq, trim(smf_sid) as smf_sid, start_utc, trim(gauge) as gauge, mean, minimum, maximum
from {{ source('collectors', 'collector_gauge') }}
