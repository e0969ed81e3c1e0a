"""Run an example on a local engine: ``python -m examples crm``."""

from typing import Annotated

import typer

from adminview.cli.output.printing import Console
from adminview.cli.output.rows import print_rows
from adminview.cli.querying.result_grid import table_grid
from adminview.local.engines import ENGINES, EngineError, EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply
from adminview.query.engine import ResultRow
from examples import Example, load, names
from examples.query import ExampleQuery, pages

app = typer.Typer(add_completion=False)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="The example. Without it, list all examples.")] = "",
    engine: Annotated[EngineName, typer.Option(help="The local engine.")] = EngineName.MOTO,
) -> None:
    """Run the queries of an example on a local engine, and print the rows."""
    known = names()
    if not name:
        width = max(map(len, known))
        for example in known:
            typer.echo(f"{example:{width}}  {load(example).about}")
    elif name not in known:
        msg = f"there is no example {name!r}; there are {', '.join(known)}"
        raise typer.BadParameter(msg)
    else:
        try:
            play(load(name), engine, Console())
        except EngineError as error:
            typer.secho(str(error), fg="red", err=True)
            raise typer.Exit(1) from None


def play(example: Example, engine_name: EngineName, console: Console) -> None:
    """Write the example's items, and run its queries."""
    with ENGINES[engine_name]() as engine:
        cloud = LocalCloud.start(engine, example.registry)
        console.rule(f"{example.name} on {engine.name} (a local engine, not AWS)")
        apply(cloud, example.steps)
        for query in example.queries:
            if query.counted is None:
                rows = [row for page in pages(cloud.query_engine, query) for row in page]
                pattern = example.registry.pattern(query.pattern)
                grid = table_grid(example.registry, pattern, [*map(ResultRow, rows)])
                print_rows(title(example, query), grid, console)
            else:
                console.print(title(example, query), style="bold")
                number = cloud.query_engine.count(query.pattern, **query.parameters)
                console.print(f"{number} rows\n")


def title(example: Example, query: ExampleQuery) -> str:
    """Return the pattern and parameters of a query, and the description and index below."""
    pattern = example.registry.pattern(query.pattern)
    parameters = " ".join(f"{name}={value}" for name, value in query.parameters.items())
    mode = f" ({query.mode})" if query.mode else ""
    return f"{pattern.name} {parameters}{mode}\n{pattern.about}, from {pattern.place}"


if __name__ == "__main__":
    app()
