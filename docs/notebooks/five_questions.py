"""Five usual questions, answered from the published snapshot: `marimo edit docs/notebooks/five_questions.py`."""

import marimo

app = marimo.App(width="medium", app_title="Five questions to the snapshot")


@app.cell
def _():
    import os
    from pathlib import Path

    import duckdb
    import marimo as mo

    snapshot = Path(os.environ.get("ETALON_HOME", ".etalon")) / "published" / "etalon.duckdb"
    if not snapshot.is_file():
        raise FileNotFoundError(f"{snapshot}: nothing is published yet; run `etalon build`, or set ETALON_HOME")

    def ask(sql):
        """The answer as a data frame; the snapshot is closed again, so that a new one can take its place."""
        with duckdb.connect(str(snapshot), read_only=True) as con:
            return con.execute(sql).df()

    mo.md(
        f"""
        # Five questions to the snapshot

        Answered from `{snapshot}`. Change the SQL and run a cell again; the
        [data dictionary](../data-dictionary/README.md) says what every table and column means, and
        `etalon export marts DIR` writes the same tables as Parquet.
        """
    )
    return ask, mo


@app.cell
def _(ask, mo):
    busiest = ask(
        """
        SELECT system_id, engine_type, max(engines) AS engines, round(max(cpu_busy_pct), 1) AS peak_busy_pct,
          arg_max(interval_start_local, cpu_busy_pct) AS peak_at,
          round(100 * sum(busy_s) / sum(online_s), 1) AS mean_busy_pct
        FROM marts.fct_interval_utilization GROUP BY ALL ORDER BY peak_busy_pct DESC
        """
    )
    mo.vstack([mo.md("## 1. Which LPARs were the busiest, and when?"), busiest])
    return (busiest,)


@app.cell
def _(ask, mo):
    four_hours = ask(
        """
        SELECT scope, name, date_trunc('month', interval_start_local)::date AS month,
          round(max(r4ha_msu), 1) AS highest_msu,
          arg_max(interval_start_local, r4ha_msu) AS at
        FROM marts.fct_msu WHERE hours_averaged > 3.95 GROUP BY ALL ORDER BY month, scope, name
        """
    )
    mo.vstack(
        [
            mo.md("## 2. What was the highest whole rolling four-hour average of each month, in MSU?"),
            four_hours,
        ]
    )
    return (four_hours,)


@app.cell
def _(ask, mo):
    cost = ask(
        """
        SELECT system_id, class_name, date_trunc('week', interval_start_local)::date AS week,
          round(sum(transactions_ended) / sum(interval_s), 4) AS tran_per_s,
          round(sum(appl_cp_pct * interval_s) * 1e4 / nullif(sum(transactions_ended), 0), 1) AS cpu_us_per_tran
        FROM marts.fct_transaction_cost WHERE class_kind = 'service_class'
        GROUP BY ALL HAVING sum(transactions_ended) > 0 ORDER BY system_id, class_name, week
        """
    )
    mo.vstack([mo.md("## 3. What does a transaction of each class cost, week by week?"), cost])
    return (cost,)


@app.cell
def _(ask, mo):
    goals = ask(
        """
        SELECT system_id, class_name, any_value(importance) AS importance, any_value(goal_kind) AS goal,
          round(100 * avg((performance_index > 1)::int), 1) AS missed_pct_of_intervals,
          round(max(performance_index), 2) AS worst_index
        FROM marts.fct_service_class WHERE class_kind = 'service_class' AND performance_index IS NOT NULL
        GROUP BY ALL ORDER BY missed_pct_of_intervals DESC, worst_index DESC
        """
    )
    mo.vstack([mo.md("## 4. Which classes miss their goals, and how often?"), goals])
    return (goals,)


@app.cell
def _(ask, mo):
    uncaptured = ask(
        """
        SELECT system_id, round(100 * sum(captured_s) / sum(busy_s), 1) AS captured_pct,
          round(sum(uncaptured_s) / sum(interval_s), 3) AS uncaptured_engines
        FROM marts.fct_uncaptured GROUP BY ALL HAVING sum(busy_s) > 0 ORDER BY captured_pct
        """
    )
    mo.vstack([mo.md("## 5. How much CPU was charged to no class?"), uncaptured])
    return (uncaptured,)


if __name__ == "__main__":
    app.run()
