select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smfsid, chr(0) || ' ') as smf_sid,
  header.smfdte + to_microseconds(header.smftme::BIGINT * 10000) as written_local,
  section.smfmnrvn::BIGINT as release_code,
  rtrim(section.smfmnprn, chr(0) || ' ') as generic_applid,
  rtrim(section.smfmnspn, chr(0) || ' ') as applid,
  section.smfmnmfl::BIGINT as maintenance_indicator,
  section.smfmncl::BIGINT as monitoring_class,
  section.smfmndca::BIGINT as connectors_offset,
  section.smfmndcl::BIGINT as connector_length,
  section.smfmndcn::BIGINT as connector_count,
  section.smfmndra::BIGINT as data_offset,
  section.smfmndrl::BIGINT as data_length,
  section.smfmndrn::BIGINT as data_count,
  section.smfmncrl::BIGINT as compressed_length,
  section.smfmntad::BIGINT as local_adjustment,
  section.smfmnlso / 4096::DOUBLE as leap_seconds_us,
  section.smfmndto / 4096::DOUBLE as local_offset_us,
  rtrim(section.smfmnjbn, chr(0) || ' ') as job_name,
  section.smfmnrsd as job_date,
  section.smfmnrst::BIGINT * 10000 as job_clock_us,
  hex(section.smfmnuif) as user_identification,
  rtrim(section.smfmnpdn, chr(0) || ' ') as os_level
from {{ source('raw', 'smf110_1_product') }} as section
left join {{ source('raw', 'smf110_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
