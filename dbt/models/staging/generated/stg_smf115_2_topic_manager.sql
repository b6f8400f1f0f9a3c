select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm115sid, chr(0) || ' ') as smf_sid,
  header.sm115dte + to_microseconds(header.sm115tme::BIGINT * 10000) as written_local,
  section.qtstid::BIGINT as control_block_id,
  section.qtstll::BIGINT as control_block_bytes,
  rtrim(section.qtstdesc, chr(0) || ' ') as eye_catcher,
  section.qtststot::BIGINT as subscriptions,
  section.qtstsdur::BIGINT as durable_subscriptions,
  list_transform(section.qtstshig, lambda x: x::BIGINT) as subscriptions_high,
  list_transform(section.qtstslow, lambda x: x::BIGINT) as subscriptions_low,
  section.qtstsexp::BIGINT as subscriptions_expired,
  section.qtsttmsg::BIGINT as messages_published,
  section.qtstsphw::BIGINT as messages_per_publication_max,
  list_transform(section.qtstptot, lambda x: x::BIGINT) as publications,
  section.qtstphig::BIGINT as publications_high,
  section.qtstplow::BIGINT as publications_low,
  section.qtstpnos::BIGINT as publications_without_subscriber,
  section.qtstethw / 4096::DOUBLE as publish_longest_us,
  section.qtstetto / 4096::DOUBLE as publish_total_us,
  hex(section.qtstrest) as further_content
from {{ source('raw', 'smf115_2_topic_manager') }} as section
left join {{ source('raw', 'smf115_2_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
