"""The epochs of totals that were left. An epoch is declared once: its old amounts may be wrong.

A total that is dropped, or rebuilt under another epoch, leaves items in the totals table. They are
empty only if no record was lost, and they are deleted days later. So a total that is declared again
under the same epoch could begin with a wrong sum.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from adminview.cli.model_lock.model_diff import Description

RETIRED: Final = "retired_epochs"  # the part of the lock file; absent if there are none

RetiredEpochs: TypeAlias = dict[str, list[int]]  # by the name of the total


def retire(retired: RetiredEpochs, old: Description | None, new: Description) -> RetiredEpochs:
    """Return the epochs that are retired when *new* replaces *old*."""
    declared = _epochs(new)
    known = {name: set(epochs) for name, epochs in retired.items()}
    for name, epochs in _epochs(old or {}).items():
        known.setdefault(name, set()).update(epochs - declared.get(name, set()))
    return {name: sorted(epochs) for name, epochs in sorted(known.items()) if epochs}


def reused_epochs(retired: RetiredEpochs, model: Description) -> Iterator[str]:
    """Yield the totals that declare a retired epoch, and what to declare instead."""
    for name, epochs in _epochs(model).items():
        left = set(retired.get(name, ()))
        if again := sorted(epochs & left):
            numbers = " and ".join(map(str, again))
            yield (
                f"total {name!r} had epoch {numbers} before: its old amounts may remain in the "
                f"totals table. Declare epoch={max(left | epochs) + 1}"
            )


def read_retired(content: Mapping[str, Any]) -> RetiredEpochs:
    """Return the retired epochs in the content of a lock file; raises an AssertionError."""
    retired = content.get(RETIRED, {})
    assert isinstance(retired, dict)
    for epochs in retired.values():
        assert isinstance(epochs, list)
        assert all(isinstance(epoch, int) for epoch in epochs)
    return retired


def _epochs(model: Description) -> dict[str, set[int]]:
    """Return the epochs that a model keeps, by total."""
    return {
        total["name"]: {epoch for epoch in total["epoch"] if epoch}
        for total in model.get("totals", ())
    }
