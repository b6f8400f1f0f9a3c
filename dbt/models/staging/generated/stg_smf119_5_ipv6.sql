select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf119hdsid, chr(0) || ' ') as smf_sid,
  header.smf119hddate + to_microseconds(header.smf119hdtime::BIGINT * 10000) as written_local,
  try_cast(section.smf119ap_tsp6duration as BIGINT) as interval_raw,
  section.smf119ap_tsp6recdata::BIGINT as datagrams_received,
  section.smf119ap_tsp6attfwddata::BIGINT as datagrams_forward_tried,
  section.smf119ap_tsp6dlvdata::BIGINT as datagrams_delivered,
  section.smf119ap_tsp6xdata::BIGINT as datagrams_sent,
  section.smf119ap_tsp6xdscoth::BIGINT as sends_discarded_other,
  section.smf119ap_tsp6xdscroute::BIGINT as sends_discarded_no_route,
  section.smf119ap_tsp6timeouts::BIGINT as reassembly_timeouts,
  section.smf119ap_tsp6recdrsmb::BIGINT as reassembly_needed,
  section.smf119ap_tsp6rsmb::BIGINT as reassembled,
  section.smf119ap_tsp6failrsmb::BIGINT as reassembly_failed,
  section.smf119ap_tsp6recfgmt::BIGINT as fragmented,
  section.smf119ap_tsp6dscdfgmt::BIGINT as fragmentation_failed,
  section.smf119ap_tsp6xfgmt::BIGINT as fragments_made,
  section.smf119ap_tsp6routedisc::BIGINT as routes_discarded
from {{ source('raw', 'smf119_5_ipv6') }} as section
left join {{ source('raw', 'smf119_5_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
