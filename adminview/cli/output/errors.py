"""Print expected errors as messages, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from adminview.aws.error_hints import describe_error
from adminview.cli.errors import EXPECTED_ERRORS
from adminview.cli.output.printing import (
    echo,
    end_activity,
    print_error,
    print_traceback,
    printable,
)


class EscapingGroup(TyperGroup):
    """A command group that escapes usage errors before typer prints them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _escaped():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _escaped():
            return super().invoke(ctx)


@contextmanager
def _escaped() -> Iterator[None]:
    """Escape the message of a usage error, because it quotes arguments."""
    try:
        yield
    except Exception as error:
        end_activity()  # typer prints the error itself
        message = vars(error).get("message")
        if hasattr(error, "format_message") and isinstance(message, str):
            vars(error)["message"] = printable(message, "\n")
        raise


def report_error(error: Exception) -> None:
    print_error(f"adminview: {describe_error(error)}")


@contextmanager
def exit_on_error(status: int) -> Iterator[None]:
    """Exit with *status* after any error. For commands in which status 1 has its own meaning."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except typer.Abort:
        echo("Aborted.", err=True)
        raise typer.Exit(status) from None
    except EXPECTED_ERRORS as error:
        report_error(error)
        raise typer.Exit(status) from None
    except Exception:  # noqa: BLE001 - it is printed, and the status reports failure
        print_traceback()
        raise typer.Exit(status) from None
