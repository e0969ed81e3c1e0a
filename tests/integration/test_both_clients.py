"""boto3 and the direct client write the same table, and read the same rows."""

from base64 import b64encode
from typing import Any

from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter, Writer
from adminview.aws.deadline import Deadline
from adminview.aws.view_reader import Boto3Reader, HttpReader, Meter, Reader, ViewReader
from adminview.aws.view_table import ViewTable, WriteOutcome
from adminview.local.engines import Engine
from adminview.local.local_cloud import LocalCloud, direct_client_to, writer_to
from adminview.model import KeyCondition
from adminview.model.row import VIEW_TABLE, Attributes, key_of
from adminview.sync.fold import Write
from tests.support.fakes import a_put, a_write

BLOB = b64encode(b"\x00\xff").decode()
DATA: dict[str, Any] = {
    "text": {"S": 'Łódź 😀 \u2028 "quoted" \\ \''},
    "nothing": {"S": ""},
    "number": {"N": "-12.50"},
    "large": {"N": "1E+100"},
    "binary": {"B": BLOB},
    "binaries": {"BS": [BLOB, b64encode(b"x").decode()]},
    "texts": {"SS": ["é", "b"]},
    "numbers": {"NS": ["1", "2.5"]},
    "yes": {"BOOL": True},
    "null": {"NULL": True},
    "empty": {"M": {}},
    "none": {"L": []},
    "deep": {"L": [{"M": {"B": {"S": "named like a type"}, "x": {"L": [{"B": BLOB}]}}}]},
}


def writes() -> list[Write]:
    """Make more than fit one call, and delete some rows that are there and some that are not."""
    operations = []
    for n in range(60):
        row: Attributes = {"PK": {"S": "P"}, "SK": {"S": f"{n}"}, "data": {"M": DATA}}
        operations.append(a_write(("P", f"{n}"), None if n % 7 == 0 else row, n))
    return operations


def write(writer: Writer, batch: list[Write]) -> WriteOutcome:
    return ViewTable(writer, VIEW_TABLE).write(batch, deadline=Deadline.after(60))


def unordered(value: Any) -> Any:
    """Make a value comparable: sets come back in any order."""
    ((kind, content),) = value.items()
    if kind in ("SS", "NS", "BS"):
        return kind, tuple(sorted(content))
    if kind == "M":
        return kind, tuple(sorted((name, unordered(element)) for name, element in content.items()))
    return (kind, tuple(map(unordered, content))) if kind == "L" else (kind, content)


def test_both_clients_write_the_same_table(cloud: LocalCloud, engine: Engine) -> None:
    assert isinstance(cloud.runtime.view._writer, HttpBatchWriter), "as it is deployed"
    tables = []
    for writer in (Boto3BatchWriter(cloud.clients.dynamodb), writer_to(engine)):
        every = [a_put(n, older={"S": "x"}) for n in range(60)]
        assert write(writer, every).written == 60
        outcome = write(writer, writes())
        assert (outcome.written, {*outcome.errors}) == (60, set())
        tables.append({key_of(row): unordered({"M": row}) for row in cloud.rows()})
        write(writer, [a_write(("P", f"{n}"), None, n) for n in range(60)])
        assert cloud.rows() == []
    boto3, direct = tables
    assert boto3 == direct
    assert len(direct) == 51


def test_a_row_that_the_engine_refuses_is_refused_alone_by_both_clients(
    cloud: LocalCloud, engine: Engine
) -> None:
    for writer in (Boto3BatchWriter(cloud.clients.dynamodb), writer_to(engine)):
        puts = [a_put(n) for n in range(30)]
        puts[7] = a_put(7, bad={"N": "not a number"})
        outcome = write(writer, puts)
        assert [(refused.key, code) for refused, code in outcome.refused] == [
            (("P", "7"), "ValidationException")
        ]
        assert outcome.written == 29


def read_by(reader: Reader) -> Any:
    """Query in pages of 7 after a start key, count, and read rows by their keys."""
    view, meter, deadline = ViewReader(reader, VIEW_TABLE), Meter(), Deadline.after(60)
    condition = KeyCondition(None, "#p = :p", {"#p": "PK"}, {":p": {"S": "P"}})
    pages: dict[str, Any] = {"page_size": 7, "descending": False, "consistent": True}
    after = {"PK": {"S": "P"}, "SK": {"S": "10"}}
    rows = [*view.rows(condition, after=after, **pages, deadline=deadline, meter=meter)]
    number = view.count(condition, consistent=True, deadline=deadline, meter=meter)
    keys = [("P", "1"), ("P", "2"), ("P", "not there")]
    got = view.get(keys, deadline=deadline)
    assert meter.units > 0
    return (
        [unordered({"M": row}) for row in rows],
        {key: unordered({"M": row}) for key, row in got.items()},
        (number, meter.calls, meter.units),
    )


def test_both_clients_read_the_same(cloud: LocalCloud, engine: Engine) -> None:
    write(writer_to(engine), writes())
    readers = (Boto3Reader(cloud.clients.dynamodb), HttpReader(direct_client_to(engine)))
    boto3, direct = (read_by(reader) for reader in readers)
    assert boto3 == direct
    rows, got, (number, calls, _) = direct
    assert len(rows) == 49
    assert sorted(got) == [("P", "1"), ("P", "2")]
    assert number == 51
    assert calls > 49 // 7
