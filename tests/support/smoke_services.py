"""Services that the checks of `adminview smoke` read, sound or broken in one respect."""

import json
from collections.abc import Callable
from json import dumps
from typing import Any
from urllib.parse import unquote_plus

from adminview.cli.smoke.run import SmokeRun
from adminview.cli.smoke.wire import WireResponse
from tests.support.deployment import API, RECOVERY, SYNC, WATCH, sound
from tests.support.smoke import FakeWire, smoke_run

OK: dict[str, Any] = {}


class Calls:
    """A client that opens a connection for each of its first calls."""

    def __init__(self, connections: int) -> None:
        self.connections, self.opened = connections, 0

    def call(self, operation: str, body: bytes) -> dict[str, Any]:
        assert (operation, json.loads(body)["TableName"]) == ("GetItem", "AdminViewTable")
        self.opened = min(self.opened + 1, self.connections)
        return {}


class Rows:
    """The view's rows, read by the API and by the direct client."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Any] = {}
        self.most_bytes = 10**9  # of a response of the API
        self.direct_bytes = 10**9
        self.decode: Callable[[str], str] = unquote_plus

    @property
    def answers(self) -> dict[str, Any]:
        return {"put_item": self.put_item, "delete_item": self.delete_item}

    def put_item(self, Item: Any, **_: Any) -> Any:  # noqa: N803 - boto3's, as below
        self.rows[Item["PK"]["S"], Item["SK"]["S"]] = Item
        return {}

    def delete_item(self, Key: Any, **_: Any) -> Any:  # noqa: N803
        del self.rows[Key["PK"]["S"], Key["SK"]["S"]]
        return {}

    def call(self, _: str, body: bytes) -> dict[str, Any]:
        request = json.loads(body)["RequestItems"]["AdminViewTable"]["Keys"]
        rows = [self.rows[key["PK"]["S"], key["SK"]["S"]] for key in request]
        while len(dumps(rows)) > self.direct_bytes:
            rows.pop()
        return {"Responses": {"AdminViewTable": rows}}

    def get(self, url: str) -> WireResponse:
        path, _, query = url.removeprefix("https://api.example").partition("?")
        if path.startswith("/patterns/"):
            rows = [{"data": row["data"]} for row in self.rows.values()]
            while len(dumps(rows)) > self.most_bytes:
                rows.pop()
            return WireResponse(200, dumps({"rows": rows}).encode())
        if query:
            key = tuple(unquote_plus(pair.partition("=")[2]) for pair in query.split("&"))
            return self._row(key)
        pieces = self.decode(path.removeprefix("/rows/")).split("/")
        for place in range(1, len(pieces)):
            key = "/".join(pieces[:place]), "/".join(pieces[place:])
            if key in self.rows:
                return self._row(key)
        return WireResponse(404, b"{}")

    def _row(self, key: Any) -> WireResponse:
        if key not in self.rows:
            return WireResponse(404, b"{}")
        return WireResponse(200, dumps({"key": dict(zip(("PK", "SK"), key, strict=True))}).encode())

    def run(self) -> SmokeRun:
        """Return a run against these rows."""
        here = sound()
        here.output(API, "ApiUrl", "https://api.example")
        return smoke_run(here, self.answers, FakeWire(self.get, client=self))


class Metrics:
    """CloudWatch, without the metrics that *absent* names."""

    def __init__(self, *absent: str) -> None:
        self.absent = absent
        self.sum = [3.0]  # of the metric without data, and the one with data
        self.polled = [3.0, 0.0]  # records of each minute

    def get_metric_data(self, MetricDataQueries: Any, **_: Any) -> Any:  # noqa: N803 - boto3's
        return {"MetricDataResults": [*map(self._result, MetricDataQueries)]}

    def _result(self, query: Any) -> Any:
        if "Expression" in query:
            return {"Id": query["Id"], "Values": self.sum if query["Id"] == "sum" else []}
        if query["Id"] == "idle":
            return {"Id": query["Id"], "Values": self.polled}
        name = query["MetricStat"]["Metric"]["MetricName"]
        return {"Id": query["Id"], "Values": [] if name in self.absent else [3.0]}

    def run(self, *used: str) -> SmokeRun:
        """Return a run on a deployment whose alarms use metrics."""
        here = sound()
        here.output(SYNC, "SyncFunctionName", "sync")
        alarm = here.stacks[WATCH]["template"]["Resources"]["Age"]["Properties"]
        alarm["Metrics"] = [{"MetricName": name} for name in used]
        answers = {"get_metric_data": self.get_metric_data, "put_item": OK, "delete_item": OK}
        return smoke_run(here, answers)


class Machine:
    """Executions of a state machine; a redriven one ends as *after* says."""

    def __init__(self, after: str = "SUCCEEDED", ends: str = "RUNNING") -> None:
        self.after, self.ends, self.status, self.redriven = after, ends, "", 0
        self.others: list[Any] = []
        self.started = 0

    @property
    def answers(self) -> dict[str, Any]:
        return {
            "list_executions": lambda **_: {"executions": self.others},
            "start_execution": self.start,
            "list_map_runs": {"mapRuns": [{}]},
            "stop_execution": self.stop,
            "describe_execution": lambda **_: {
                "status": self.status,
                "redriveCount": self.redriven,
            },
            "redrive_execution": self.redrive,
        }

    def start(self, input: str, **_: Any) -> Any:  # noqa: A002 - boto3's
        assert json.loads(input)["task"] == "backfill"
        self.status, self.started = self.ends, self.started + 1
        return {"executionArn": "arn"}

    def stop(self, **_: Any) -> Any:
        if self.status == "RUNNING":
            self.status = "ABORTED"
        return {}

    def redrive(self, **_: Any) -> Any:
        self.redriven, self.status = self.redriven + 1, self.after
        return {}

    def run(self, **answers: Any) -> SmokeRun:
        """Return a run on a deployment with this machine."""
        here = sound()
        here.output(RECOVERY, "BackfillMachineArn", "machine")
        return smoke_run(here, {**self.answers, **answers})
