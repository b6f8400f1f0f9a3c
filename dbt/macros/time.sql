{#- The end of an interval that starts at a moment and lasts so many seconds. -#}
{% macro end_utc(start_utc, seconds) -%}
  ({{ start_utc }} + to_microseconds((({{ seconds }}) * 1000000)::bigint))
{%- endmacro %}

{#- The hours that an interval touches, as a list: joined on, they keep a join by overlap from comparing all with all. -#}
{% macro hours_touched(start_utc, seconds) -%}
  generate_series(date_trunc('hour', {{ start_utc }}), {{ end_utc(start_utc, seconds) }}, interval '1 hour')
{%- endmacro %}

{#- Seconds that two intervals have in common; not above 0 where they do not meet. -#}
{% macro overlap_s(a_start_utc, a_seconds, b_start_utc, b_seconds) -%}
  (date_diff('microsecond', greatest({{ a_start_utc }}, {{ b_start_utc }}),
    least({{ end_utc(a_start_utc, a_seconds) }}, {{ end_utc(b_start_utc, b_seconds) }})) / 1e6)
{%- endmacro %}

{#- Whether two intervals that meet in several hours are looked at in the first of them. -#}
{% macro first_common_hour(hour, a_start_utc, b_start_utc) -%}
  ({{ hour }} = date_trunc('hour', greatest({{ a_start_utc }}, {{ b_start_utc }})))
{%- endmacro %}

{#- Rows of a relation with the interval `n` of their LPAR in which a moment of theirs lies, NULL where it lies in none.
    `start` is the start of the `intervals` on the clock that the moment is of; where two start alike, as in the hour that
    local time repeats in autumn, it is the first. -#}
{% macro with_interval(relation, moment, intervals, start) -%}
  (
    select m.*, case when m.{{ moment }} < {{ end_utc('i.' ~ start, 'i.interval_s') }} then i end as n
    from {{ relation }} m
    asof left join (
      select * from {{ intervals }}
      qualify row_number() over (partition by smf_sid, {{ start }} order by interval_start_utc, interval_key) = 1
    ) i on i.smf_sid = m.smf_sid and m.{{ moment }} >= i.{{ start }}
  )
{%- endmacro %}
