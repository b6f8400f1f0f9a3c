{#- Fails with the combinations of columns that occur more than once. -#}
{% test unique_together(model, columns) %}
select {{ columns | join(', ') }}, count(*) as copies
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}
