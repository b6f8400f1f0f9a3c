{#- Units of measurement groups 2, 4 and 5 (FICON and others), which count alike. -#}
{% macro channel_units(name) -%}
  coalesce({{ name }}, group_4_{{ name }}, group_5_{{ name }})
{%- endmacro %}

{#- A figure of the whole machine; NULL where it is 0 and the partition's is not: then only the partition was measured. -#}
{% macro of_machine(total, partition) -%}
  case when {{ total }} > 0 or coalesce({{ partition }}, 0) = 0 then {{ total }} end
{%- endmacro %}

{#- Channel paths of SMF 73 as recorded, each record once, with what measurement groups call by other names: seconds busy
    and bytes moved, of the whole machine and of the partition. HiperSockets (group 3) only say what was sent; a path
    without extended measurement (group 0) only says how long the partition kept it busy. -#}
{% macro channel_paths(relation) -%}
  (
    select *,
      {{ of_machine('machine_busy_s', 'partition_busy_s') }} as busy_s,
      {{ ratio(channel_units('bus_cycles'), channel_units('bus_cycles_max_per_s')) }} as bus_busy_s,
      {{ of_machine('machine_read_bytes', 'partition_read_bytes') }} as read_bytes,
      {{ of_machine('machine_write_bytes', 'partition_write_bytes') }} as write_bytes
    from (
      select *,
        coalesce(
          {{ ratio('total_busy_us', 'measured_us') }} * interval_s,
          {{ ratio(channel_units('total_work_units'), channel_units('work_units_max_per_s')) }}
        ) as machine_busy_s,
        coalesce(
          {{ ratio('lpar_busy_us', 'measured_us') }} * interval_s,
          {{ ratio(channel_units('lpar_work_units'), channel_units('work_units_max_per_s')) }},
          case when measurement_group = 0 then {{ ratio('partition_busy_us', 'measured_us') }} * interval_s end
        ) as partition_busy_s,
        {{ channel_units('total_read_units') }} * {{ channel_units('data_unit_bytes') }} as machine_read_bytes,
        {{ channel_units('lpar_read_units') }} * {{ channel_units('data_unit_bytes') }} as partition_read_bytes,
        coalesce({{ channel_units('total_write_units') }} * {{ channel_units('data_unit_bytes') }},
          total_data_units_sent * total_data_unit_bytes) as machine_write_bytes,
        coalesce({{ channel_units('lpar_write_units') }} * {{ channel_units('data_unit_bytes') }},
          lpar_data_units_sent * lpar_data_unit_bytes) as partition_write_bytes
      from {{ first_written(relation, ['chpid']) }}
    )
  )
{%- endmacro %}
