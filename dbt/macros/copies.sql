{#- The start of the interval that an RMF record is about. -#}
{% macro rmf_start() -%}
  date_trunc('second', coalesce(interval_start_utc, interval_start_local))
{%- endmacro %}

{#- Rows of interval records, each record once: an interval's records can be written twice (a restart, a dump appended to
    another). Of the rows about one thing in one interval, those of the record written first count; `about` are the columns
    that name the thing, and where a name can stand for several things, its figures: then only equal rows are copies. -#}
{% macro first_written(relation, about=[], start=rmf_start()) -%}
  (
    select * from {{ relation }}
    qualify dense_rank() over (
      partition by {{ (['smf_sid', start] + about) | join(', ') }} order by written_local, file_id, record_seq
    ) = 1
  )
{%- endmacro %}
