{#- Fails with the rows whose value lies outside [low, high]; NULL passes. -#}
{% test between(model, column_name, low, high) %}
select * from {{ model }} where {{ column_name }} < {{ low }} or {{ column_name }} > {{ high }}
{% endtest %}
