"""Read the items of a sample."""

from collections.abc import Iterable, Iterator

from adminview.checks.sampled import SampleItem
from adminview.item_files import read_lines
from adminview.model import Registry
from adminview.model.errors import RecordError, SettingsError


def read_sample(files: Iterable[str], model: Registry) -> list[SampleItem]:
    """Read items with their sources; raises a SettingsError that names file and line."""
    return [item for file in files for item in _read(file, model)]


def _read(file: str, model: Registry) -> Iterator[SampleItem]:
    for line in read_lines(file):
        try:
            source = model.source(line.source)
            source.owner(line.image)  # raises if the key is not as declared
        except (KeyError, RecordError) as error:
            msg = f"{line.place}: {error.args[0]}"
            raise SettingsError(msg) from error
        yield SampleItem(source, line.image)
