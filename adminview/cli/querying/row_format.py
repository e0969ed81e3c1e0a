"""The formats in which rows are printed, apart from JSON, and the options that choose one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import typer

from adminview.cli.output.grid import Grid
from adminview.cli.output.printing import Console, print_csv
from adminview.cli.output.rows import note, print_rows, to_csv

Csv: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--csv",
        help="Print CSV for a spreadsheet: a value that would be a formula gets a ' before it.",
    ),
]
CsvRaw: TypeAlias = Annotated[
    bool, typer.Option("--csv-raw", help="Print CSV for programs, with exact values.")
]
Columns: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Print only these columns of a table or CSV, in this order, such as SK,status.",
        metavar="A,B",
    ),
]
NOT_AT_A_TERMINAL = (
    "--csv-raw prints control characters as they are: send it to a file or a pipe, or use --csv"
)


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A table, or CSV; all columns, or those that the user names."""

    columns: Sequence[str] = ()
    csv: bool = False
    csv_raw: bool = False

    @classmethod
    def of(cls, columns: str | None, *, json: bool, csv: bool, csv_raw: bool) -> "RowFormat":
        """Raise a usage error for options that contradict each other."""
        if json + csv + csv_raw > 1:
            msg = "--json, --csv and --csv-raw exclude each other"
            raise typer.BadParameter(msg)
        if json and columns is not None:
            msg = "--columns chooses columns of a table or CSV, and --json prints whole rows"
            raise typer.BadParameter(msg)
        if csv_raw and Console().at_terminal:
            raise typer.BadParameter(NOT_AT_A_TERMINAL)
        names = [name.strip() for name in (columns or "").split(",") if name.strip()]
        if columns is not None and not names:
            msg = "--columns needs names, separated by commas"
            raise typer.BadParameter(msg)
        return cls(names, csv, csv_raw)

    def print(self, title: str, grid: Grid, hidden: Collection[str] = ()) -> None:
        """Print rows. A table leaves out the *hidden* columns, unless the user names them."""
        if unknown := grid.unknown(self.columns):
            known = ", ".join(grid.headers)
            note(f"no row has {', '.join(unknown)}; columns: {known}")
        if self.columns:
            grid = grid.select(self.columns)
        elif not self.csv and not self.csv_raw:
            grid = grid.without(hidden)
        if self.csv or self.csv_raw:
            print_csv(to_csv(grid, raw=self.csv_raw))
        else:
            print_rows(title, grid, otherwise=", or choose with --columns")
