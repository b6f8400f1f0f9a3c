"""Commands over networks, described in TOML or calibrated: solve, simulate, replay, export-network."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from model import documents
from pipelines import answer_text, steps, transactions
from pipelines.commands.answers import At, SystemName, keys
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.progress import Reporter, compiling

if TYPE_CHECKING:
    from model.network import Network

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
SUFFIX = ".toml"
MOST_FACTOR, MOST_POINTS = 1e6, 1000
Simulated = Annotated[
    str, typer.Argument(metavar="SYSTEM|MODEL.toml", help="Calibrated system, or file of a network description.")
]
ModelFile = Annotated[Path, typer.Argument(help="Network description; docs/network.md describes the format.")]
Table = Annotated[Path | None, typer.Option("--capacity-table", help="Your own capacity table, a CSV file.")]
MeasuredOn = Annotated[
    str, typer.Option("--measured-on", help="Machine in the table on which the workload was measured.")
]
On = Annotated[str, typer.Option("--on", help="Machine in the table to which the engine pools move.")]
Workload = Annotated[str, typer.Option("--workload", help="Column or workload in the table.")]
Pools = Annotated[
    list[str] | None,
    typer.Option("--pool", help="Station to move; may be repeated. Default: stations of component cp."),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (solve, simulate, replay, export_network):
        app.command()(command)


def solve(
    model: ModelFile,
    sweep: Annotated[
        str | None,
        typer.Option(
            help="Solve at several loads, FROM:TO:POINTS, as factors of the described rates "
            "and users, such as 0.2:1.5:14."
        ),
    ] = None,
    capacity_table: Table = None,
    measured_on: MeasuredOn = "",
    on: On = "",
    workload: Workload = "",
    pool: Pools = None,
    as_json: Json = False,
) -> None:
    """Solve a queueing network exactly. If it has no exact solution, use `etalon simulate`."""
    from model.network.exact import report, sweep_load
    from model.network.exact import solve as exact

    with _refusals(), compiling("the exact methods"):
        network = _network(model, capacity_table, measured_on, on, workload, pool or [])
        if sweep is not None:
            swept = sweep_load(network, _factors(sweep))
            as_text = report.sweep_as_text
            typer.echo(documents.dumps(report.sweep_as_dict(swept), indent=2) if as_json else as_text(swept))
            return
        solution = exact(network)
    typer.echo(documents.dumps(report.as_dict(solution), indent=2) if as_json else report.as_text(solution))


def simulate(
    model: Simulated,
    at: At = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the random numbers. The same seed gives the same answer.", min=0)
    ] = 1,
    precision: Annotated[
        float | None,
        typer.Option(
            help="Simulate until the half-width is at most this share of the mean response time (0.01 = 1 %).", min=1e-4
        ),
    ] = None,
    replications: Annotated[int, typer.Option(help="Number of independent replications.", min=1)] = 8,
    horizon: Annotated[int, typer.Option(help="Minimum total number of transactions.", min=1)] = 400_000,
    replay: Annotated[
        str | None,
        typer.Option(
            help="Recorded transactions that replace random arrivals: a CSV or Parquet file, or a "
            "SELECT over the published snapshot. Columns: arrival, class and work (cp_us, "
            "dasd_us, ...)."
        ),
    ] = None,
    capacity_table: Table = None,
    measured_on: MeasuredOn = "",
    on: On = "",
    workload: Workload = "",
    pool: Pools = None,
    as_json: Json = False,
) -> None:
    """Simulate a calibrated system or a network. Every measure has a confidence interval."""
    options: dict[str, Any] = {"seed": seed, "precision": precision, "horizon": horizon}
    options["replications"] = min(replications, horizon)
    if not model.lower().endswith(SUFFIX):
        if replay is not None or capacity_table is not None:
            raise typer.BadParameter("--replay and --capacity-table require a network description, MODEL.toml")
        _simulate_system(model, keys(at), options, as_json)
        return
    if at:
        raise typer.BadParameter("--at requires a calibrated system; a network description contains its load")
    from model.network.simulator import report
    from model.network.simulator import simulate as run

    with _refusals(), compiling("the simulator"):
        network = _network(Path(model), capacity_table, measured_on, on, workload, pool or [])
        if replay is not None:
            typer.echo(_replayed(network, replay, seed, as_json))
            return
        with Reporter().step(f"simulating {network.name}"):
            simulation = run(network, **options, details=True)
    typer.echo(documents.dumps(report.as_dict(simulation), indent=2) if as_json else report.as_text(simulation))


def replay(
    system: SystemName,
    at: At = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the random numbers. The same seed gives the same answer.", min=0)
    ] = 1,
    as_json: Json = False,
) -> None:
    """Replay recorded transactions on a calibrated system. Reports simulated and recorded response times."""
    with _refusals(), Reporter().step(f"replaying recorded transactions through {system}"):
        load, rows = transactions.replayed(Home.from_environment(), _champion(), system, keys(at), seed)
    if as_json:
        typer.echo(documents.dumps({"system": system, "at": load, "classes": rows}, indent=2))
    else:
        typer.echo(answer_text.replay(system, load, rows))


def export_network(
    system: SystemName,
    at: At = None,
    out: Annotated[Path | None, typer.Option("--out", help="Output file. Default: standard output.")] = None,
) -> None:
    """Write a system's calibrated network to a file. `solve` and `simulate` read this file."""
    from model.capacity.network_export import export_network

    with _refusals():
        written = export_network(_champion(), system, keys(at)).network.to_toml()
    if out is None:
        typer.echo(written, nl=False)
    else:
        out.write_text(written, encoding="utf-8")


def _simulate_system(system: str, load: dict[str, Any], options: dict[str, Any], as_json: bool) -> None:
    from model.capacity.simulation import simulate_system

    with _refusals(), Reporter().step(f"simulating {system}"):
        answer = simulate_system(_champion(), system, load, **options).to_dict()
    typer.echo(documents.dumps(answer, indent=2) if as_json else answer_text.answer(answer, details=True))


def _champion() -> Any:
    return steps.champion(Home.from_environment())


def _network(model: Path, table: Path | None, measured_on: str, on: str, workload: str, pools: list[str]) -> "Network":
    from model.network import Network
    from model.network.capacity_tables import moved, read_capacity_table

    if model.suffix.lower() != SUFFIX and not model.exists():
        raise typer.BadParameter(
            f"{model}: no such network description (MODEL.toml); for a system, use `etalon predict {model}`"
        )
    network = Network.load(model)
    if table is None:
        if on or measured_on or workload or pools:
            raise typer.BadParameter("--measured-on, --on, --workload and --pool need --capacity-table")
        return network
    if not (measured_on and on):
        raise typer.BadParameter("--capacity-table needs --measured-on and --on")
    effect = read_capacity_table(table.read_text(encoding="utf-8"), str(table)).effect(measured_on, on, workload)
    return moved(network, effect, pools)


def _factors(text: str) -> Any:
    import numpy as np

    try:
        first, last, points = text.split(":")
        ends, count = (float(first), float(last)), int(points)
    except ValueError:
        raise typer.BadParameter(f"--sweep is FROM:TO:POINTS, such as 0.2:1.5:14, not {text!r}") from None
    if not all(0.0 < end <= MOST_FACTOR for end in ends) or not 1 <= count <= MOST_POINTS:
        raise typer.BadParameter(
            f"--sweep must be factors above 0, up to {MOST_FACTOR:g}, at 1 to {MOST_POINTS} points (got {text!r})"
        )
    return np.linspace(*ends, count)


def _replayed(network: "Network", source: str, seed: int, as_json: bool) -> str:
    import numpy as np

    from model.network.simulator import recorded, report
    from model.network.simulator import replay as run

    records = recorded(network, _columns(source))
    with Reporter().step(f"replaying {len(records.arrival_s):,} transactions through {network.name}"):
        simulation, left_s = run(network, records.arrival_s, records.classes, records.work_s, seed=seed, details=True)
    rows = report.replayed_rows(network, records, np.asarray(left_s))
    if as_json:
        return documents.dumps(report.as_dict(simulation) | {"replayed": rows}, indent=2)
    return report.as_text(simulation) + "\n" + report.replayed_as_text(rows)


def _columns(source: str) -> dict[str, Any]:
    """Columns of a CSV or Parquet file, or of a query over the published snapshot, as NumPy arrays."""
    path = Path(source)
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
    elif path.suffix.lower() == ".csv":
        import pyarrow.csv

        try:
            table = pyarrow.csv.read_csv(path)
        except pyarrow.ArrowInvalid as error:
            raise EtalonError(f"{path}: {error}", Exit.NO_INPUT) from error
    else:
        from ingest import warehouse

        table = warehouse.query(Home.from_environment().snapshot, source)
    return {name: table[name].to_numpy() for name in table.column_names}


@contextmanager
def _refusals() -> Iterator[None]:
    """Report a refusal by the exact methods or the simulator as a question without an answer, not as a fault."""
    from model.network import NetworkError
    from model.network.simulator import SimulationError

    try:
        yield
    except (NetworkError, SimulationError, ValueError, ArithmeticError) as error:
        if getattr(error, "exit_code", None) is not None:
            raise
        raise EtalonError(str(error), Exit.QUESTION) from error
