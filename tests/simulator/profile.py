"""The parameters of a history, chosen first, so that histories differ as a whole."""

from dataclasses import dataclass, replace
from typing import Any, Final

from adminview.model.delivery import FOREVER, Delivery
from tests.simulator.choices import Choices

FAR = Delivery().max_age_seconds
# Instead of a pause: wait until an item is read, or a sweep reads one; then it changes.
NEXT_READ: Final = -1.0
NEXT_LOOK: Final = -2.0


@dataclass(frozen=True, slots=True)
class Profile:
    """The size of a history, and the frequency of its faults."""

    items: int
    writes: int
    pauses: tuple[float, ...]  # seconds between two writes, one of
    replay_pauses: tuple[float, ...]  # likewise, before a replay
    switch_percent: int
    skip_percent: int
    lag_percent: int  # how often the owner index returns an older version
    fault_percent: int
    fault_budget: int
    kinds: tuple[str, ...]  # the names of the possible faults; empty means all
    victims: str  # the prefix of their names
    poison_percent: int
    refused_percent: int
    fix_after: float  # seconds
    delivery: Delivery
    backfill: bool  # items exist before the view
    change_after: float | None  # seconds, until another model is deployed
    taken_back: bool  # before its rows are backfilled
    segments: int
    twin_percent: int  # how often two workers get the same segment
    replays: int
    operators: int

    @classmethod
    def draw(cls, choices: Choices) -> "Profile":
        """Choose a profile of one of the kinds below."""
        pick, below = choices.pick, choices.below
        sort = pick(SORTS)
        drawn = cls(
            items=1 + below(3),
            writes=1 + below(12),
            pauses=pick(
                ((0,), (0, 1, 20), (0, 40), (0, 100, 400), (0, NEXT_READ), (0, NEXT_READ, 40))
            ),
            replay_pauses=pick(((0,), (0, 5, 60, 700))),
            switch_percent=pick((0, 10, 30, 60)),
            skip_percent=pick((0, 0, 2, 8)),
            lag_percent=pick((0, 50, 90)),
            fault_percent=pick((0, 5, 15, 30, 30)),
            fault_budget=below(20),
            kinds=(),
            victims=pick(("", "", "sync", "replay", "bulk")),
            poison_percent=pick((0, 30, 60)),
            refused_percent=pick((0, 0, 30)),
            fix_after=pick((0, 1, 30, 100, 700)),
            delivery=Delivery(
                batch_size=1 + below(4),
                window_seconds=pick((0, 0, 5)),
                bisect=bool(below(2)),
                retries=pick((FOREVER, FOREVER, 2)),
                max_age_seconds=pick((FAR, FAR, 200)),
            ),
            backfill=bool(below(2)),
            change_after=pick((None, None, None, 0, 40, 400)),
            taken_back=pick((False, False, True)),
            segments=1 + below(2),
            twin_percent=pick((0, 0, 30)),
            replays=1 + below(2),
            operators=below(2),
        )
        return replace(drawn, **sort)


# Items change while the rows of an older model are swept.
SWEPT: dict[str, Any] = {
    "items": 1,
    "pauses": (NEXT_LOOK, 0),
    "switch_percent": 60,
    "fault_percent": 5,
    "kinds": ("SLOW",),
    "victims": "bulk",
    "poison_percent": 0,
    "refused_percent": 0,
    "backfill": False,
    "change_after": 0,
    "segments": 1,
    "twin_percent": 0,
    "operators": 0,
}
# Replays are killed at items that keep changing, while the owner index lags.
REPLAYED: dict[str, Any] = {
    "items": 1,
    "pauses": (0, NEXT_READ, NEXT_READ),
    "replay_pauses": (0,),
    "switch_percent": 60,
    "lag_percent": 90,
    "fault_percent": 30,
    "kinds": ("SLOW", "KILLED_AFTER"),
    "victims": "replay",
    "poison_percent": 60,
    "fix_after": 0.5,
    "backfill": False,
    "change_after": None,
    "operators": 0,
}
# A batch hangs while dead letters are replayed, which the fixed views can derive.
HANGING: dict[str, Any] = {
    "items": 1,
    "writes": 4,
    "pauses": (0,),
    "replay_pauses": (0,),
    "fault_percent": 40,
    "kinds": ("SLOW",),
    "victims": "sync",
    "poison_percent": 60,
    "fix_after": 30,
    "delivery": Delivery(batch_size=4),
    "backfill": False,
    "change_after": None,
}
# Calls that timed out take effect much later, over rows that have changed again.
LATE: dict[str, Any] = {
    "items": 1,
    "pauses": (0, 20, 100),
    "replay_pauses": (0,),
    "fault_percent": 30,
    "kinds": ("LATE",),
    "poison_percent": 0,
    "refused_percent": 0,
    "change_after": None,
}
# Some failures need several events at once; these profiles make that likely.
SORTS: tuple[dict[str, Any], ...] = (
    {},
    {},
    REPLAYED,
    REPLAYED,
    HANGING,
    HANGING,
    SWEPT,
    SWEPT,
    LATE,
    LATE,
    {  # workers are killed at calls that take effect after others have recovered their pages
        **LATE,
        "pauses": (0, NEXT_READ, 100),
        "kinds": ("ABANDONED",),
        "victims": "bulk",
        "backfill": True,
        "segments": 1,
    },
    {  # so are replays
        **LATE,
        "pauses": (0, 100, 400),
        "kinds": ("ABANDONED",),
        "victims": "replay",
        "poison_percent": 60,
        "fix_after": 30,
        "backfill": False,
    },
    {  # backfills are killed at items that keep changing
        "pauses": (0, NEXT_READ, 40),
        "fault_percent": 25,
        "kinds": ("SLOW", "KILLED", "KILLED_AFTER"),
        "victims": "bulk",
        "poison_percent": 0,
        "refused_percent": 0,
        "backfill": True,
        "change_after": None,
        "operators": 0,
    },
    {  # workers hang, and are taken for dead, at items that keep changing
        "items": 1,
        "pauses": (0, NEXT_READ, 100),
        "lag_percent": 90,
        "fault_percent": 15,
        "kinds": ("SLOW", "KILLED_AFTER"),
        "victims": "bulk",
        "poison_percent": 0,
        "refused_percent": 0,
        "backfill": True,
        "change_after": None,
        "segments": 1,
        "twin_percent": 100,
        "operators": 0,
    },
    {  # items change while another model is backfilled and swept
        "items": 1,
        "writes": 12,
        "pauses": (0, NEXT_READ, NEXT_READ, NEXT_READ),
        "replay_pauses": (0,),
        "switch_percent": 60,
        "lag_percent": 90,
        "fault_percent": 10,
        "kinds": ("SLOW", "KILLED_AFTER"),
        "victims": "bulk",
        "poison_percent": 0,
        "refused_percent": 0,
        "backfill": True,
        "change_after": 40,
        "segments": 1,
        "operators": 0,
    },
    {  # invocations of the old code last long
        "pauses": (0, 1, 20),
        "fault_percent": 30,
        "kinds": ("SLOW",),
        "victims": "sync",
        "poison_percent": 0,
        "refused_percent": 0,
        "backfill": False,
        "change_after": 1,
        "operators": 0,
    },
    {  # batches are written in part, and no dead letter repairs that
        "pauses": (0, 1),
        "fault_percent": 50,
        "kinds": ("UNPROCESSED", "DENIED", "REDELIVERED", "SPLIT"),
        "victims": "sync",
        "poison_percent": 0,
        "refused_percent": 0,
        "delivery": Delivery(batch_size=4),
        "backfill": False,
        "change_after": None,
        "operators": 0,
    },
    {  # many dead letters, and a failing queue
        "fault_percent": 30,
        "kinds": ("REFUSED", "DUPLICATED", "SHUFFLED", "UNANSWERED", "KILLED_AFTER"),
        "poison_percent": 60,
        "refused_percent": 30,
        "replays": 2,
    },
    {  # AWS fails everywhere
        "fault_percent": 30,
        "kinds": ("THROTTLED", "BROKEN", "UNREACHED", "UNANSWERED", "SLOW"),
        "victims": "",
    },
)
