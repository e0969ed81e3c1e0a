"""A progress bar on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from adminview.cli.output.printing import Console, progress_text


@contextmanager
def progress_bar(what: str, expected: int) -> Iterator[Callable[[int], None]]:
    """Display a progress bar if standard error is a terminal; yield a function that moves it."""
    console = Console(stderr=True)
    if not console.at_terminal:
        yield lambda _: None
        return
    columns = (
        progress_text("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        progress_text("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=expected)
        yield lambda done: progress.update(task, completed=done, total=max(expected, done))
