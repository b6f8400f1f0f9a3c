select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30inp::BIGINT as card_images,
  section.smf30tep::BIGINT as excps_4byte,
  section.smf30tpt::BIGINT as tputs,
  section.smf30tgt::BIGINT as tgets,
  section.smf30rdr::BIGINT as reader_device_class,
  section.smf30rdt::BIGINT as reader_device_type,
  section.smf30tcn::BIGINT * 128 as device_connect_us,
  section.smf30dcf::BIGINT as io_flags,
  (section.smf30dcf & 536870912) <> 0 as excps_4byte_overflowed,
  section.smf30trr::BIGINT as rereads,
  section.smf30aic::BIGINT * 128 as dasd_connect_us,
  section.smf30aid::BIGINT * 128 as dasd_disconnect_us,
  section.smf30aiw::BIGINT * 128 as dasd_wait_us,
  section.smf30ais::BIGINT as dasd_starts,
  section.smf30eic::BIGINT * 128 as enclave_dasd_connect_us,
  section.smf30eid::BIGINT * 128 as enclave_dasd_disconnect_us,
  section.smf30eiw::BIGINT * 128 as enclave_dasd_wait_us,
  section.smf30eis::BIGINT as enclave_dasd_starts,
  try_cast(section.smf30tex as BIGINT) as excps,
  section.smf30das::BIGINT as dds_not_recorded
from {{ source('raw', 'smf30_io') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
