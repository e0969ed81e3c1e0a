"""Warm throughput: how many writes per second the view takes at once.

DynamoDB raises it by itself while writes increase, but at most doubles it within half an hour, and
throttles what exceeds it until then. An index that takes less than the table throttles the table.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from adminview.aws.table_description import TableIndex
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.warm_up import NEW_TABLE, TABLE, WarmUpCost
from adminview.cli.deployment.facts import Deployed
from adminview.cli.planning.steps import WarmUp

LONG_HOURS: Final = 1.0
HOUR: Final = 3600


def warm_up_steps(
    deployed: Deployed, indexes: Iterable[TableIndex], peak: int | None
) -> Iterator[WarmUp]:
    """Raise the warm throughput of what takes less than *peak*; *indexes* are those to come, too.

    Nothing is known of an engine that reports no warm throughput.
    """
    created = deployed.indexes is not None
    table = deployed.warm_writes if created else NEW_TABLE
    if peak is None or not table:
        return
    own = {index.name: index.warm_writes or NEW_TABLE for index in indexes if not index.local}
    cold = {name: units for name, units in own.items() if units < peak}
    if table < peak or cold:
        least, prices = min([table, *cold.values()]), Prices()
        dollars = WarmUpCost(peak, {TABLE: table, **own}).dollars(prices)
        yield WarmUp(
            reason=f"the view takes {least:,} at once, and DynamoDB at most doubles that in half "
            f"an hour; AWS charges once for the increase, about ${dollars:,.2f} in "
            f"{prices.region}, and it cannot be undone",
            units=peak,
            table=table < peak,
            indexes=tuple(cold),
        )


def warmth_notes(deployed: Deployed, unbuilt: Iterable[str], peak: int | None) -> Iterator[str]:
    """Report backfills that take hours at the rate that the view takes at once."""
    if not deployed.warm_writes or peak is not None:
        return
    global_indexes = [index for index in deployed.indexes or () if not index.local]
    rates = [deployed.warm_writes, *(index.warm_writes or NEW_TABLE for index in global_indexes)]
    for source in unbuilt:
        items, least = deployed.items.get(source, 0), min(rates)
        # An item costs at least one write unit; most cost several.
        if (hours := items / least / HOUR) > LONG_HOURS:
            yield (
                f"{source} has about {items:,} items, and the view takes {least:,} write units per "
                f"second at once: the backfill takes at least {hours:.1f} hours, or is throttled. "
                "To write faster, add --peak-wcu, which raises the warm throughput first"
            )
