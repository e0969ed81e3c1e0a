"""A note at synthesis for a model change that one update of the stacks cannot make.

Synthesis does not know what is deployed. It knows the locked model, and the changes of indexes in
the last entry of the list of changes.
"""

import re
from collections.abc import Iterator
from json import loads
from pathlib import Path
from typing import Final

from aws_cdk import Annotations
from constructs import Construct

from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model import Registry

LOCK: Final = "model.lock.json"
CHANGES: Final = "MODEL_CHANGES.md"
ENTRY: Final = re.compile(r"^## \S+ - (\S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
INDEX: Final = re.compile(r"^- Indexes: (created|dropped): ([^,\n]+)", re.MULTILINE)
NOTE: Final = "adminview:index-changes"


def note_index_changes(
    scope: Construct, options: DeploymentOptions, folder: Path | None = None
) -> None:
    """Add a note to *scope* if several indexes change, unless a plan deploys."""
    if options.phase.planned:
        return
    changes = list(_index_changes(options.views, folder or Path()))
    if len(changes) > 1:
        text = (
            f"with the last change of the model, {', '.join(changes)}. CloudFormation creates or "
            "deletes one index per update of a table that exists, so `cdk deploy` of several fails:"
            f" run `adminview apply --stage {options.stage.name}`. Ignore this note if you deploy "
            "for the first time (a new table gets all indexes at once), or have deployed the change"
        )
        Annotations.of(scope).add_info_v2(NOTE, text)


def _index_changes(views: Registry, folder: Path) -> Iterator[str]:
    """Yield the indexes that are created and dropped."""
    lock, changes = folder / LOCK, folder / CHANGES
    if not lock.exists():
        return
    model = loads(lock.read_text(encoding="utf-8"))
    if model["fingerprint"] != views.fingerprint:
        old = {shape["name"] for shape in model["indexes"]}
        new = {index.name for index in views.indexes}
        yield from (f"index {name} is created" for name in sorted(new - old))
        yield from (f"index {name} is dropped" for name in sorted(old - new))
    elif changes.exists():
        entry = ENTRY.search(changes.read_text(encoding="utf-8"))
        if entry and entry[1] == views.fingerprint:
            yield from (f"index {name} is {what}" for what, name in INDEX.findall(entry[2]))
