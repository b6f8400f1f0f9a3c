{#- The metrics that are told of more than one thing - an interval, a class, an LPAR, a measured point - each defined here
    and nowhere else: unit, scale, numerator, denominator; value = scale x numerator / denominator, over several intervals
    the ratio of sums. Names in braces are columns, or what the caller puts in their place. -#}
{% macro metric_definitions() -%}
  {%- do return({
    'etr_tps': ('tran/s', 1, '{ended}', '{seconds}'),
    'executed_tps': ('tran/s', 1, '{executed}', '{seconds}'),
    'itr_tps': ('tran/s', 1, '{ended}', '{busy_s}::double / nullif({engines}, 0)'),
    'cpu_busy_pct': ('pct', 100, '{busy_s}', '{online_s}'),
    'lpar_busy_pct': ('pct', 100, '{lpar_busy_s}', '{online_s}'),
    'mvs_busy_pct': ('pct', 100, '{mvs_busy_s}', '{mvs_available_s}'),
    'engines': ('engines', 1, '{online_s}', '{seconds}'),
    'cps_busy': ('engines', 1, '{busy_s}', '{seconds}'),
    'thread_density': ('threads', 1, '{thread_busy_s}', '{busy_s}'),
    'capture_ratio': ('ratio', 1, '{captured_s}', '{busy_s}'),
    'cpu_us_per_tran': ('us/tran', 1e6, '{busy_s}', '{ended}'),
    'ziip_us_per_tran': ('us/tran', 1e6, '{thread_busy_s}', '{ended}'),
    'service_cpu_us_per_tran': ('us/tran', 1e6, '{cp_s}', '{ended}'),
    'uncaptured_us_per_tran': ('us/tran', 1e6, '({busy_s} - {captured_s}) * {cp_s} / nullif({captured_s}, 0)', '{ended}'),
    'service_share_pct': ('pct', 100, '{cp_s}', '{busy_s}'),
    'ziip_service_us_per_tran': ('us/tran', 1e6, '{ziip_s}', '{ended}'),
    'ziip_on_cp_us_per_tran': ('us/tran', 1e6, '{ziip_on_cp_s}', '{ended}'),
    'cpu_pct': ('pct of one CP', 100, '{cp_s}', '{seconds}'),
    'cps_used': ('engines', 1, '{cp_s}', '{seconds}'),
    'ziip_pct': ('pct of one zIIP', 100, '{ziip_s}', '{seconds}'),
    'ziip_on_cp_pct': ('pct of one CP', 100, '{ziip_on_cp_s}', '{seconds}'),
    'transaction_cpu_pct': ('pct of one CP', 100, '{transaction_cp_s}', '{seconds}'),
    'transaction_share_pct': ('pct', 100, 'nullif({transaction_cp_s}, 0)', '{cp_s}'),
    'mobile_cpu_pct': ('pct of one CP', 100, '{mobile_cp_s}', '{seconds}'),
    'mobile_cpu_us_per_tran': ('us/tran', 1e6, 'nullif({mobile_cp_s}, 0)', '{ended}'),
    'msu': ('MSU', 3600e-6, '{cp_s} * {service_units_per_s}', '{seconds}'),
    'response_ms': ('ms', 1e-3, '{elapsed_us}', '{ended}'),
    'execution_ms': ('ms', 1e-3, '{execution_us}', '{ended}'),
    'queued_ms': ('ms', 1e-3, '{queue_us}', '{ended}'),
    'transactions_inside': ('transactions', 1e-6, '{elapsed_us}', '{seconds}'),
    'mean_active': ('average', 1e-6, '{active_us}', '{seconds}'),
    'mean_resident': ('average', 1e-6, '{residency_us}', '{seconds}'),
    'service_per_s': ('SU/s', 1, '{service_units}', '{seconds}'),
    'absorption': ('SU/s', 1e6, '{service_units}', '{residency_us}'),
    'transaction_service': ('SU/s', 1e6, '{service_units}', '{active_us}'),
    'cpu_srb_service_per_tran': ('SU/tran', 1, '{cpu_service_units} + {srb_service_units}', '{ended}'),
    'io_per_s': ('1/s', 1, '{ios}', '{seconds}'),
    'io_per_tran': ('1/tran', 1, '{ios}', '{ended}'),
    'io_response_ms': ('ms', 1e-3, '{io_us}', '{measured_ios}'),
    'cf_requests_per_s': ('1/s', 1, '{sync_requests} + {async_requests}', '{seconds}'),
    'cf_requests_per_tran': ('1/tran', 1, '{sync_requests} + {async_requests}', '{ended}'),
    'cf_sync_pct': ('pct', 100, '{sync_requests}', '{sync_requests} + {async_requests}'),
    'cf_async_pct': ('pct', 100, '{async_requests}', '{sync_requests} + {async_requests}'),
    'cf_sync_service_us': ('us', 1, '{sync_service_us}', '{sync_requests}'),
    'cf_async_service_us': ('us', 1, '{async_service_us}', '{async_requests}'),
    'cf_sync_cpu_us_per_tran': ('us/tran', 1, '{sync_service_us}', '{ended}'),
    'storage_bytes': ('bytes', 1, '{sampled_bytes}', '{samples}')
  }) -%}
{%- endmacro %}

{#- Unit, scale, numerator and denominator of a metric; `names` says what stands in place of which column. -#}
{% macro metric_parts(metric, names={}) -%}
  {%- set unit, scale, numerator, denominator = metric_definitions()[metric] -%}
  {%- set found = [unit, scale] -%}
  {%- for part in (numerator, denominator) -%}
    {%- set text = namespace(of=part) -%}
    {%- for name, column in names.items() -%}
      {%- set text.of = text.of | replace('{' ~ name ~ '}', '(' ~ column ~ ')') -%}
    {%- endfor -%}
    {%- do found.append(text.of | replace('{', '') | replace('}', '')) -%}
  {%- endfor -%}
  {%- do return(found) -%}
{%- endmacro %}

{#- Value of a metric where its parts are columns; NULL where the denominator is zero or missing. -#}
{% macro metric(metric, names={}) -%}
  {%- set unit, scale, numerator, denominator = metric_parts(metric, names) -%}
  ({{ scale }} * {{ ratio(numerator, denominator) }})::double
{%- endmacro %}

{#- A metric as a structure of its name (or another, an SQL expression), unit, scale, numerator and denominator, and how
    intervals are put together where that is said. -#}
{% macro measure(metric, names={}, called=none, aggregation=none) -%}
  {%- set unit, scale, numerator, denominator = metric_parts(metric, names) -%}
  {'metric': {{ called if called else "'" ~ metric ~ "'" }}, 'unit': '{{ unit }}', 'scale': {{ scale }}::double,
      {%- if aggregation %} 'aggregation': '{{ aggregation }}',{% endif %}
      'numerator': ({{ numerator }})::double, 'denominator': ({{ denominator }})::double}
{%- endmacro %}
