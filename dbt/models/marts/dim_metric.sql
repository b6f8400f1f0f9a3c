-- What the registry of metrics (dbt_project.yml) says of each metric that was measured.
with registry as (
  select * from (values
    {% for name, entry in metric_registry().items() -%}
    {%- set domain = entry.get('domain', [0, none]) -%}
    ('{{ name }}', {{ loop.index }}
      {%- for field in ['label', 'about', 'better', 'formula', 'source'] -%}
      , {{ "'" ~ (entry[field] | replace("'", "''")) ~ "'" if entry[field] else 'null' }}
      {%- endfor -%}
      , {{ '{about}' in (entry.name or '') }}, {{ entry.follows_load or false }}, {{ domain[0] if domain[0] is not none else 'null' }}
      , {{ domain[1] if domain[1] is not none else 'null' }}){{ ',' if not loop.last }}
    {% endfor -%}
  ) t (definition, place, label, about, better, formula, source, is_named_for_one, follows_load, lowest, highest)
),

metric as (
  select metric, min(definition) as definition, any_value(about) as about,
    string_agg(distinct unit, ' or ' order by unit) as unit
  from {{ ref('int_point_measure') }} m
  where exists (from {{ ref('fct_point_metric') }} p where p.metric = m.metric)
  group by metric
),

described as (
  select m.metric, m.unit, r.place, r.label, r.better, r.formula, r.source, coalesce(r.follows_load, false) as follows_load,
    r.lowest, r.highest,
    -- A metric that several workloads have under one name is about none of them.
    case when r.label is not null then coalesce(r.about, case when r.is_named_for_one then m.about end) end as subject
  from metric m
  left join registry r using (definition)
)

select
  metric::varchar as metric,
  coalesce(place, 1000)::integer as place,
  (case when label is null then replace(metric, '_', ' ') when subject is null then label
    else label || ': ' || replace(subject, '_', ' ') end)::varchar as label,
  unit::varchar as unit,
  better::varchar as better,
  follows_load::boolean as follows_load,
  subject::varchar as subject,
  formula::varchar as formula,
  source::varchar as source,
  lowest::double as lowest,
  highest::double as highest
from described
