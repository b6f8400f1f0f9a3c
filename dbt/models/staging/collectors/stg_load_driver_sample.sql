select
  file_id, record_seq,
  sampled_utc, trim(graph) as graph, trim(series) as series, value
from {{ source('collectors', 'load_driver_sample') }}
