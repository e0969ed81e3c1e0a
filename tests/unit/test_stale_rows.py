"""An access pattern that is kept must not return rows that a change leaves behind."""

import pytest

from adminview.cli.planning.sample import stale_row_refusals
from adminview.model import AccessPattern, Index
from tests.support.stream_records import image

by_state = Index("ByState", partition="state", sort="day", include=["data"])
of_user = AccessPattern("of-user", partition="USER#{user}", sort_begins="ORDER#")
profile = AccessPattern("profile", partition="USER#{user}", sort="PROFILE")
since = AccessPattern("since", partition="USER#{user}", sort_from="{day}")
since_order = AccessPattern("since-order", partition="USER#{user}", sort_from="ORDER#{day}")
after = AccessPattern("after", partition="USER#{user}", sort_after="ORDER#{day}")
until = AccessPattern("until", partition="USER#{user}", sort_until="ORDER#{day}")
before = AccessPattern("before", partition="USER#{user}", sort_before="ORDER#{day}")
between = AccessPattern(
    "between", partition="USER#{user}", sort_between=("ORDER#{first}", "ORDER#{last}")
)
perhaps = AccessPattern("perhaps", partition="USER#{user}", sort="ORDER#{day}", optional=["day"])
open_end = AccessPattern(
    "open-end",
    partition="USER#{user}",
    sort_between=("B#{first}", "C#{last}"),
    optional=["first", "last"],
)
one_text = AccessPattern(
    "one-text",
    partition="USER#{user}",
    sort_between=("ORDER#{first}", "ORDER#{last}"),
    optional=["first", "last"],
)
by_day = AccessPattern("by-day", index=by_state, partition="S#{state}", sort="{day}")
ORDER = image({"PK": "USER#1", "SK": "ORDER#7"})


@pytest.mark.parametrize(
    ("pattern", "row", "shown"),
    [
        (of_user, {"PK": "USER#1", "SK": "ORDER#7"}, True),
        (of_user, {"PK": "USER#1", "SK": "PROFILE"}, False),
        (of_user, {"PK": "USER#", "SK": "ORDER#7"}, False),
        (of_user, {"PK": "PRODUCT#1", "SK": "ORDER#7"}, False),
        (profile, {"PK": "USER#1", "SK": "PROFILE"}, True),
        (profile, {"PK": "USER#1", "SK": "PROFILE2"}, False),
        (since, {"PK": "USER#1", "SK": "anything"}, True),
        *(
            (p, {"PK": "USER#1", "SK": "ORDER#7"}, True)
            for p in (since_order, after, until, before)
        ),
        *((p, {"PK": "USER#1", "SK": "ORDER"}, False) for p in (since_order, after)),
        *((p, {"PK": "USER#1", "SK": "ORDER"}, True) for p in (until, before)),
        *((p, {"PK": "USER#1", "SK": "PAID"}, True) for p in (since_order, after)),
        *((p, {"PK": "USER#1", "SK": "PAID"}, False) for p in (until, before)),
        (between, {"PK": "USER#1", "SK": "ORDER#7"}, True),
        (between, {"PK": "USER#1", "SK": "ORDER"}, False),
        (between, {"PK": "USER#1", "SK": "PAID"}, False),
        (perhaps, {"PK": "USER#1", "SK": "PROFILE"}, True),  # a query may leave out the day
        (open_end, {"PK": "USER#1", "SK": "Z"}, True),
        (one_text, {"PK": "USER#1", "SK": "ORDER#7"}, True),
        (one_text, {"PK": "USER#1", "SK": "PROFILE"}, False),  # an open end keeps the text
        (by_day, {"PK": "x", "SK": "y", "state": "S#NEW", "day": "1"}, True),
        (by_day, {"PK": "x", "SK": "y", "state": "T#NEW", "day": "1"}, False),
        (by_day, {"PK": "x", "SK": "y", "state": "S#NEW"}, False),  # not in the index
    ],
)
def test_a_row_can_be_in_a_result_if_it_fits_the_fixed_parts_of_the_pattern(
    pattern: AccessPattern, row: dict[str, str], *, shown: bool
) -> None:
    assert pattern.may_show(image(row)) is shown


def test_patterns_that_would_show_stale_rows_are_named() -> None:
    patterns = (of_user, profile, since)
    refusals = list(
        stale_row_refusals(
            {"Orders": [ORDER, ORDER], "Users": []}, patterns, {"of-user", "profile"}
        )
    )
    assert len(refusals) == 1
    assert refusals[0].startswith(
        "access pattern 'of-user' shows rows of Orders that the new views"
    )
    assert "(2 in a sample)" in refusals[0]
    assert list(stale_row_refusals({"Orders": []}, patterns, {"of-user"})) == []
