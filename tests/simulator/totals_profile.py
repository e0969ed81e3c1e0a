"""What a history of totals has to do with: drawn first, so that histories differ as a whole."""

from dataclasses import dataclass, replace
from typing import Any

from adminview.model import delivery
from adminview.model.delivery import Delivery
from tests.simulator.choices import Choices
from tests.simulator.totals_model import MODELS

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class TotalsProfile:
    """How large a history is, and how bad the luck."""

    rows: int
    groups: int
    writes: int
    pauses: tuple[float, ...]  # seconds between two writes, one of
    switch_percent: int
    skip_percent: int
    fault_percent: int
    fault_budget: int
    kinds: tuple[str, ...]  # the names of the possible faults; empty means all
    victims: str
    malformed_percent: int
    expiry_percent: int  # how often DynamoDB deletes what has expired, at a call
    model: str  # the first
    change_after: int | None  # writes, until another model is deployed
    timeout: int  # seconds, of an invocation
    delivery: Delivery

    @classmethod
    def draw(cls, choices: Choices) -> "TotalsProfile":
        """Draw a profile, of one of the sorts below."""
        pick, below = choices.pick, choices.below
        sort = pick(SORTS)
        drawn = cls(
            rows=1 + below(5),
            groups=1 + below(3),
            writes=1 + below(16),
            pauses=pick(((0,), (0, 1, 20), (0, 40), (0, 100, 400), (0, HOUR, 5 * HOUR))),
            switch_percent=pick((0, 10, 30, 60)),
            skip_percent=pick((0, 0, 2, 8)),
            fault_percent=pick((0, 5, 15, 30)),
            fault_budget=below(16),
            kinds=(),
            victims="",
            malformed_percent=pick((0, 0, 20)),
            expiry_percent=pick((0, 20, 100)),
            model=pick([*MODELS]),
            change_after=pick((None, None, 1, 3, 8)),
            timeout=pick((120, 120, 15)),
            delivery=replace(
                # The module's, so that another parallelization is taken over.
                delivery.TOTALS_DELIVERY,
                max_age_seconds=delivery.FOREVER,  # dropped records are a known loss
                batch_size=1 + below(5),
                window_seconds=pick((0, 0, 5)),
                tumbling_seconds=pick((900, 900, 30)),
            ),
        )
        return replace(drawn, **sort)


# Where several things must meet to do harm, histories are made in which they are likely to.
SORTS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {  # batches are delivered again, cut again, by functions that die
        "fault_percent": 30,
        "kinds": ("REDELIVERED", "KILLED", "KILLED_AFTER", "SPLIT", "REPEATED"),
    },
    {  # calls arrive late, over functions that go on although Lambda gave them up
        "fault_percent": 30,
        "kinds": ("LATE", "ABANDONED", "UNANSWERED", "DETACHED"),
        "switch_percent": 60,
    },
    {  # AWS makes trouble everywhere
        "fault_percent": 40,
        "kinds": ("THROTTLED", "BROKEN", "DENIED", "UNREACHED", "UNANSWERED", "SLOW"),
    },
    {  # days: positions are removed and empty totals deleted, and then the stream comes again
        "rows": 2,
        "groups": 1,
        "writes": 14,
        "pauses": (0, HOUR, 5 * HOUR, 30 * HOUR),
        "skip_percent": 0,
        "fault_percent": 25,
        "fault_budget": 15,
        "kinds": ("SPLIT", "REDELIVERED", "REPEATED", "RESTARTED"),
        "expiry_percent": 100,
    },
    {  # positions are archived, and then the records of their shards come again
        "rows": 2,
        "groups": 1,
        "writes": 14,
        "pauses": (0, 30, HOUR, 2 * HOUR),
        "skip_percent": 0,
        "fault_percent": 40,
        "fault_budget": 15,
        "kinds": ("SPLIT", "SPLIT", "REDELIVERED", "REPEATED", "RESTARTED", "DETACHED", "LATE"),
        "malformed_percent": 0,
        "expiry_percent": 20,
    },
    {  # a shard is read late, when positions of others are archived already
        "rows": 4,
        "groups": 1,
        "writes": 14,
        "pauses": (0, 100, 400, 700),
        "skip_percent": 8,
        "fault_percent": 40,
        "fault_budget": 15,
        "kinds": ("STALLED", "SPLIT", "DETACHED", "LATE"),
        "switch_percent": 60,
        "malformed_percent": 0,
        "timeout": 120,
    },
    {  # functions run out of time, with some of their groups updated
        "rows": 5,
        "groups": 3,
        "pauses": (0,),
        "fault_percent": 40,
        "fault_budget": 12,
        "kinds": ("SLOW", "THROTTLED"),
        "model": "two totals",
        "timeout": 15,
    },
    {  # calls arrive late at totals that were emptied and filled again, and then days pass
        "rows": 2,
        "groups": 1,
        "writes": 14,
        "pauses": (0, 30, 30 * HOUR),
        "skip_percent": 0,
        "fault_percent": 40,
        "fault_budget": 15,
        "kinds": ("LATE",),
        "malformed_percent": 0,
        "expiry_percent": 100,
    },
    {  # one group is emptied and filled again, while its shards split
        "rows": 2,
        "groups": 1,
        "writes": 16,
        "pauses": (0, 1),
        "fault_percent": 30,
        "fault_budget": 12,
        "kinds": ("SPLIT", "DETACHED", "RESTARTED", "REPEATED", "LATE"),
        "expiry_percent": 100,
    },
)
