"""Rows that a change would leave where a question that stays shows them.

The code of a new model does not know the keys that the old one gave its rows. One that gets another
key, or goes, stays in the view, stale, until the sweep: an old question would be answered with it.
No comparison of declarations shows that, so some items are derived anew and compared.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from adminview.aws.clients import Clients
from adminview.aws.settings import Settings
from adminview.cli.deployment.facts import Deployed
from adminview.cli.model_lock.model_diff import ModelDiff
from adminview.cli.planning.sample import make_estimator
from adminview.cli.planning.step import Plan
from adminview.cli.planning.steps import DeployCode
from adminview.model import AccessPattern, Registry
from adminview.model.row import Attributes

SAMPLE = 200  # items of a source


def stale_rows(
    model: Registry, deployed: Deployed, made: Plan, find: Callable[[], Settings]
) -> tuple[str, ...]:
    """Look at some items of each source whose code a plan replaces."""
    code = [step for step in made.steps if isinstance(step, DeployCode)]
    if not code or deployed.sync is None:
        return ()
    settings = find()
    change = ModelDiff.between(deployed.sync, model.description())
    estimator = make_estimator(change, model, settings, Clients().dynamodb, SAMPLE)
    known = [source for source in code[0].unbuilt if source in settings.sources]
    left = {source: estimator.left(source) for source in known}
    return tuple(moves(left, model.patterns, {name for name, _, _ in deployed.live()}))


def moves(
    left: Mapping[str, Collection[Attributes]],  # by source: rows that would be left
    patterns: Iterable[AccessPattern],
    live: Collection[str],  # questions that are answered now
) -> Iterator[str]:
    """Say which questions that stay would be answered with rows that nothing derives any more."""
    for pattern in patterns:
        for source, rows in left.items():
            shown = sum(map(pattern.may_show, rows))
            if pattern.name in live and shown:
                yield (
                    f"question {pattern.name!r} shows rows of {source} that the new views give "
                    f"another key or none ({shown} of a sample): it would be answered with the "
                    "old ones too until the sweep. Declare a new question for the new rows, and "
                    "remove the old one in a later change; or accept it with --stale-until-swept"
                )
