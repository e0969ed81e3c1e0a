"""Options that several commands share."""

import re
from typing import Annotated

import typer

from adminview.aws.settings import PREFIX, STAGE

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """Parse a duration such as 90s, 15m, 2h or 7d."""
    match = re.fullmatch(r"(\d+)([smhd])", text.strip())
    if match is None:
        msg = f"{text!r} is not a time such as 90s, 15m, 2h or 7d"
        raise typer.BadParameter(msg)
    return int(match[1]) * SECONDS[match[2]]


Stage = Annotated[
    str | None,
    typer.Option(help="Stage of the deployment, as in cdk.json.", envvar=STAGE),
]
Prefix = Annotated[
    str, typer.Option(help="Prefix of the deployment, as in cdk.json.", envvar=PREFIX)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]
MaxRcu = Annotated[float | None, typer.Option(min=1, help="Maximum read units per second.")]
MaxWcu = Annotated[float | None, typer.Option(min=1, help="Maximum write units per second.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Source = Annotated[str | None, typer.Option(help="Only dead letters of this source.")]
Error = Annotated[
    str | None, typer.Option(help="Only dead letters with this kind of error, such as ViewError.")
]
Key = Annotated[
    str | None,
    typer.Option(
        help="Only dead letters of this item: Orders/user-123/…, or one value of its key."
    ),
]
OlderThan = Annotated[
    float | None,
    typer.Option(
        help="Only dead letters about changes older than this, such as 90s, 15m, 2h or 7d.",
        parser=seconds,
        metavar="TIME",
    ),
]
NewerThan = Annotated[
    float | None,
    typer.Option(
        help="Only dead letters about changes within this time, such as 90s, 15m, 2h or 7d.",
        parser=seconds,
        metavar="TIME",
    ),
]
