"""Run an example on a local engine: ``python -m examples crm``."""

from typing import Annotated

import typer
from rich.console import Console

from adminview.cli.output.tables import answer
from adminview.local.engines import ENGINES, EngineError, EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply
from examples import Example, load, names
from examples.question import Question, pages

app = typer.Typer(add_completion=False)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Which example; without one, they are listed.")] = "",
    engine: Annotated[
        EngineName, typer.Option(help="Which local engine to run on.")
    ] = EngineName.MOTO,
) -> None:
    """Ask an example's questions on a local engine, and show what the view answers."""
    known = names()
    if not name:
        for one in known:
            typer.echo(f"{one:{max(map(len, known))}}  {load(one).about}")
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
    """Let the example's services write, and ask its view."""
    with ENGINES[engine_name]() as engine:
        cloud = LocalCloud.start(engine, example.registry)
        console.rule(f"{example.name} on {engine.name} (a local engine, not AWS)")
        apply(cloud, example.steps)
        for question in example.questions:
            # Apart from the table: a narrow one would break its title into many lines.
            console.print(title(example, question), style="bold", markup=False, highlight=False)
            if question.counted is None:
                rows = [row for page in pages(cloud.query_engine, question) for row in page]
                console.print(answer("", rows))
            else:
                number = cloud.query_engine.count(question.pattern, **question.given)
                console.print(f"{number} rows\n", highlight=False)


def title(example: Example, question: Question) -> str:
    """Say what is asked, with what, and of what."""
    pattern = example.registry.pattern(question.pattern)
    given = " ".join(f"{name}={value}" for name, value in question.given.items())
    manner = f" ({question.manner})" if question.manner else ""
    return f"{pattern.name} {given}{manner}\n{pattern.about}, from {pattern.place}"


if __name__ == "__main__":
    app()
