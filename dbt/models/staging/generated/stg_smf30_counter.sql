select
  section.file_id,
  section.record_seq,
  section.section_seq,
  rtrim(header.smf30sid, chr(0) || ' ') as smf_sid,
  header.smf30dte + to_microseconds(header.smf30tme::BIGINT * 10000) as written_local,
  section.smf30_instflgs1::BIGINT as instruction_flags,
  try_cast(section.smf30_inst_cp_task as BIGINT) as task_instructions,
  try_cast(section.smf30_inst_cp_nonpreemptsrb as BIGINT) as srb_instructions,
  try_cast(section.smf30_inst_cp_preemptsrb as BIGINT) as preemptable_srb_instructions,
  try_cast(section.smf30_inst_offload as BIGINT) as offload_instructions,
  try_cast(section.smf30_inst_offloadoncp as BIGINT) as offload_on_cp_instructions,
  try_cast(section.smf30_inst_cp_enclave as BIGINT) as enclave_instructions,
  try_cast(section.smf30_inst_offload_enclave as BIGINT) as offload_enclave_instructions,
  try_cast(section.smf30_inst_offloadoncp_enclave as BIGINT) as offload_on_cp_enclave_instructions,
  try_cast(section.smf30_inst_cp_depenc as BIGINT) as dependent_enclave_instructions,
  try_cast(section.smf30_inst_offload_depenc as BIGINT) as offload_dependent_enclave_instructions,
  try_cast(section.smf30_inst_offloadoncp_depenc as BIGINT) as offload_on_cp_dependent_enclave_instructions
from {{ source('raw', 'smf30_counter') }} as section
anti join {{ source('meta', 'record_overlap') }} as elsewhere
  on elsewhere.file_id = section.file_id and elsewhere.record_seq = section.record_seq
left join {{ source('raw', 'smf30_header') }} as header
  on header.file_id = section.file_id and header.record_seq = section.record_seq and header.section_seq = 0
