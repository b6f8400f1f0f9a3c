{#- Quotient that is NULL, not an error or infinity, where the denominator is zero or missing. -#}
{% macro ratio(numerator, denominator) -%}
  (({{ numerator }})::double / nullif(({{ denominator }})::double, 0))
{%- endmacro %}

{#- Seconds of CPU behind service units: SU / service coefficient / (16,000,000 / rate adjustment factor). -#}
{% macro service_seconds(service_units, coefficient, rate_adjustment) -%}
  ({{ ratio(service_units, coefficient) }} * {{ rate_adjustment }} / 16000000.0)
{%- endmacro %}

{#- CP time of an SMF 30 record: `cpu` is its processor section. The timers of zIIPs are apart from those of CPs. -#}
{% macro address_space_cp_s(cpu) -%}
  ((coalesce({{ cpu }}.cpu_tcb_us, 0) + coalesce({{ cpu }}.cpu_srb_us, 0) + coalesce({{ cpu }}.region_control_us, 0)
    + coalesce({{ cpu }}.io_interrupt_us, 0) + coalesce({{ cpu }}.hiperspace_us, 0)) / 1e6)
{%- endmacro %}

{#- The engine type a processor type code stands for. -#}
{% macro engine_type(code) -%}
  (case {{ code }} when 0 then 'CP' when 1 then 'zAAP' when 2 then 'zIIP' end)
{%- endmacro %}

{#- The engine type that PR/SM's name of a processor type stands for. -#}
{% macro named_engine_type(name) -%}
  (case trim({{ name }}) when 'IIP' then 'zIIP' when 'AAP' then 'zAAP' else coalesce(nullif(trim({{ name }}), ''), 'unknown') end)
{%- endmacro %}

{#- Whether two intervals start alike, in UTC where it is known and else in local time. -#}
{% macro same_start(one, other) -%}
  ({{ one }}_utc is null) = ({{ other }}_utc is null)
    and coalesce({{ one }}_utc, {{ one }}_local) = coalesce({{ other }}_utc, {{ other }}_local)
{%- endmacro %}

{#- Name of an interval: system and start, UTC where it is known. -#}
{% macro interval_key(smf_sid, start_utc, start_local) -%}
  ({{ smf_sid }} || ' ' || coalesce(strftime({{ start_utc }}, '%Y-%m-%dT%H:%M:%SZ'),
                                     strftime({{ start_local }}, '%Y-%m-%dT%H:%M:%S local')))
{%- endmacro %}

{#- A percentile read off a histogram: `counts` per bucket, `limits` their upper ends. Within a bucket those who take
    longer fall as of an exponential tail, evenly where none is beyond it. The last bucket has no upper end; a percentile
    in it is NULL. -#}
{% macro bucket_percentile(counts, limits, percent) -%}
  {%- set count = counts ~ '[i]' -%}
  {%- set beyond = '(list_sum(' ~ counts ~ ') - list_sum(list_slice(' ~ counts ~ ', 1, i)))' -%}
  {%- set wanted = '((100 - ' ~ percent ~ ') * nullif(list_sum(' ~ counts ~ '), 0) / 100.0)' -%}
  (list_aggregate(list_transform(generate_series(1, len({{ limits }}) - 1), lambda i: case
    when {{ beyond }} <= {{ wanted }} and {{ beyond }} + {{ count }} > {{ wanted }}
    then coalesce({{ limits }}[i - 1], 0) + ({{ limits }}[i] - coalesce({{ limits }}[i - 1], 0)) * case when {{ beyond }} > 0
      then ln(({{ beyond }} + {{ count }}) / {{ wanted }}) / ln(({{ beyond }} + {{ count }}) / {{ beyond }})
      else ({{ beyond }} + {{ count }} - {{ wanted }}) / {{ count }} end end), 'min'))
{%- endmacro %}

{#- The limit, in percent of the goal, of the bucket in which the transactions that a percentile goal is about have ended:
    that is how WLM and RMF judge such goals. The last bucket is open and stands for 550 %. -#}
{% macro bucket_limit(counts, limits, percent) -%}
  (list_aggregate(list_transform(generate_series(1, len({{ limits }})), lambda i: case
    when 100 * list_sum(list_slice({{ counts }}, 1, i)) >= {{ percent }} * nullif(list_sum({{ counts }}), 0)
    then case when i < len({{ limits }}) then {{ limits }}[i] else 550 end end), 'min'))
{%- endmacro %}

{#- Whether a business transaction began with a CICS task: region and task number of its origin are its own, or there is
    no origin data (before CICS 4.1, or a task of the system). -#}
{% macro is_origin() -%}
  (coalesce(origin_applid, '') in ('', applid)
    and coalesce(origin_task_number, task_number) is not distinct from task_number)
{%- endmacro %}
