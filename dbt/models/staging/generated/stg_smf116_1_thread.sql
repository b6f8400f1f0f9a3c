select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.sm116sid, chr(0) || ' ') as smf_sid,
  header.sm116dte + to_microseconds(header.sm116tme::BIGINT * 10000) as written_local,
  section.wtidshex::BIGINT as control_block_id,
  section.wtidlen::BIGINT as control_block_bytes,
  rtrim(section.wtideyec, chr(0) || ' ') as eye_catcher,
  section.wtidatyp::BIGINT as connection_type,
  rtrim(section.wtidccn, chr(0) || ' ') as connection_name,
  rtrim(section.wtidopid, chr(0) || ' ') as operator_id,
  hex(section.wtidnid) as network_id,
  hex(section.wtidcori) as correlation_id,
  hex(section.wtiduowi) as unit_of_work_id,
  hex(section.wtidacct) as accounting_token,
  rtrim(section.wtidchl, chr(0) || ' ') as channel_name,
  rtrim(section.wtidchlc, chr(0) || ' ') as channel_connection,
  hex(section.wtidctxt) as context_token,
  rtrim(section.wtidtran, chr(0) || ' ') as transaction_user_id,
  section.wtidcfwd::BIGINT as next_block_address,
  section.wtidcbwd::BIGINT as previous_block_address,
  section.wtidwtas::BIGINT as accounting_address
from {{ source('raw', 'smf116_1_thread') }} as section
left join {{ source('raw', 'smf116_1_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
