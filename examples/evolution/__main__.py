"""Run the stories on a local engine: ``python -m examples.evolution``."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any

import typer

from adminview import Registry
from adminview.cli.output.printing import Console
from adminview.cli.output.rows import print_rows
from adminview.cli.querying.result_grid import table_grid
from adminview.examples import shop
from adminview.examples.shop.sample_data import ADA, EGGS, MILK, order
from adminview.local.engines import ENGINES, Engine, EngineError, EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import Put, apply
from adminview.model.row import Attributes
from adminview.query.engine import ResultRow
from examples.evolution import crm_after, crm_before, crm_both
from examples.evolution.favourites import Favourites
from examples.evolution.moves import contract, expand

BEFORE, BOTH, AFTER = (Registry.of([module]) for module in (crm_before, crm_both, crm_after))
OLD, NEW = "active-customers", "customers-active-between"
TEAM = {"org_id": "org#A1", "team_id": "marketing", "segment": "enterprise"}
START, END = 1_700_000_000, 1_800_000_000


def customer(id_: str, at: int, **more: Any) -> Put:
    """Write a customer of the team's segment, with *more* attributes or others."""
    team = {"orgId": TEAM["org_id"], "teamId": TEAM["team_id"], "segment": TEAM["segment"]}
    item = {"customerId": id_, "name": id_.title(), "lastInteraction": Decimal(at)}
    return Put("Customers", item | team | more)


CUSTOMERS = (
    customer("ada", 1_700_000_300),
    customer("grace", 1_700_000_100),
    customer("alan", 1_600_000_000),  # too long ago
    customer("edsger", 1_700_000_200, segment="startup"),
    customer("barbara", 1_700_000_200, teamId="sales"),
)


def query(cloud: LocalCloud, pattern: str) -> list[Attributes]:
    """Query the old access pattern with texts, or the new one with numbers."""
    times: Iterable[Any] = (START, END) if pattern == NEW else (str(START), str(END))
    start, end = times
    return cloud.query(pattern, **TEAM, start=start, end=end)


def show(
    cloud: LocalCloud, pattern: str, when: str, rows: list[Attributes], console: Console
) -> None:
    """Print the rows of an access pattern."""
    declared = cloud.registry.pattern(pattern)
    grid = table_grid(cloud.registry, declared, [*map(ResultRow, rows)])
    print_rows(f"{pattern}{when}", grid, console)


def favourites(engine: Engine, console: Console) -> None:
    """Mark a product of an order, and show both items."""
    cloud = LocalCloud.start(engine, shop.registry())
    apply(cloud, [order(ADA, "2025-03-01", "2121195", "PENDING", [MILK, EGGS])])
    outcome = Favourites(cloud.clients.dynamodb).mark(ADA, "2025-03-01#2121195", EGGS)
    cloud.settle()
    console.print(f"eggs of order 2121195: {outcome}\n")
    for question in ("favourites-of-user", "orders-of-user"):
        show(cloud, question, "", cloud.query(question, user_id=ADA), console)
    cloud.stop()


def synthetic_key(engine: Engine, console: Console) -> None:
    """Move the panel from a synthetic key to a multi-attribute one, and query at each step."""
    cloud = LocalCloud.start(engine, BEFORE)
    apply(cloud, CUSTOMERS)
    show(cloud, OLD, ", before", query(cloud, OLD), console)
    expand(cloud, BOTH)
    show(cloud, OLD, ", with the new one", query(cloud, OLD), console)
    show(cloud, NEW, ", with the old one", query(cloud, NEW), console)
    contract(cloud, AFTER)
    show(cloud, NEW, ", alone", query(cloud, NEW), console)
    cloud.stop()


STORIES = {"favourites": favourites, "synthetic-key": synthetic_key}
app = typer.Typer(add_completion=False)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="The story. Without it, run both.")] = "",
    engine: Annotated[EngineName, typer.Option(help="The local engine.")] = EngineName.MOTO,
) -> None:
    """Change a data model while it is in use, on a local engine."""
    if name and name not in STORIES:
        msg = f"there is no story {name!r}; there are {', '.join(STORIES)}"
        raise typer.BadParameter(msg)
    console = Console()
    try:
        with ENGINES[engine]() as running:
            for title, story in STORIES.items():
                if name in ("", title):
                    console.rule(f"{title} on {running.name} (a local engine, not AWS)")
                    story(running, console)
    except EngineError as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    app()
