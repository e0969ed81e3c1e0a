"""Options that several commands share, and how they are read."""

import re
from typing import Annotated

import typer

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(given: str) -> float:
    """Read a stretch of time such as 90s, 15m, 2h or 7d."""
    found = re.fullmatch(r"(\d+)([smhd])", given.strip())
    if found is None:
        msg = f"{given!r} is not a time such as 90s, 15m, 2h or 7d"
        raise typer.BadParameter(msg)
    return int(found[1]) * SECONDS[found[2]]


Stage = Annotated[
    str | None,
    typer.Option(help="The deployment's stage, as in cdk.json.", envvar="ADMINVIEW_STAGE"),
]
Prefix = Annotated[
    str, typer.Option(help="The deployment's prefix, as in cdk.json.", envvar="ADMINVIEW_PREFIX")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Source = Annotated[str | None, typer.Option(help="Only letters of this source.")]
Error = Annotated[str | None, typer.Option(help="Only letters with this kind of error.")]
Key = Annotated[
    str | None,
    typer.Option(help="Only letters of this item: Orders/user-123/…, or one value of its key."),
]
OlderThan = Annotated[
    float | None,
    typer.Option(
        help="Only changes made longer ago: 90s, 15m, 2h, 7d.", parser=seconds, metavar="TIME"
    ),
]
NewerThan = Annotated[
    float | None,
    typer.Option(help="Only changes made since: 90s, 15m, 2h, 7d.", parser=seconds, metavar="TIME"),
]
