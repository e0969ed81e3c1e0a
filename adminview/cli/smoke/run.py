"""What every check of a run shares: the deployment, its scratch items, and calls that are counted.

Scratch items and rows have the mark of the run in their keys, such as `smoke-1f2e3d4c`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from pathlib import Path
from time import monotonic, time
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from botocore import xform_name

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.aws_calls import Aws
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.settings import Settings
from adminview.aws.table_description import TableDescription
from adminview.checks.sampled import SampleItem
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import SOURCES
from adminview.cli.shutdown import Shutdown
from adminview.cli.smoke.check import Cleanup, StopRequestedError, UnknownError
from adminview.cli.smoke.letters import LetterQueue
from adminview.cli.smoke.scratch import ScratchError, ScratchItem, scratch_item
from adminview.cli.smoke.wire import Wire
from adminview.model import Registry
from adminview.model.row import Attributes, RowKey, key_image, key_of
from adminview.sync.decode import Route, routes
from adminview.views import views_package

MOST_SECONDS: Final = 20 * 60.0  # of a run
POLL_SECONDS: Final = 0.5
LOCAL_SECONDS: Final = 2.0
OF_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws")  # hosts
SAMPLE_ADVICE: Final = (
    "name a file of sample items with --items-file; ADMINVIEW_ITEMS_FILE=FILE pytest writes one"
)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SmokeOptions:
    """The options of the command that checks depend on."""

    imported: bool = False  # scratch items may be written to imported tables
    api_url: str = ""  # of the API, if the output of the stack does not have it
    confirm: Callable[[str], bool] | None = None  # None if nobody can reply
    deploy: Callable[[Path, Sequence[str]], None] | None = None  # only these stacks of an app


@dataclass(slots=True)
class SmokeRun:
    """One run of the checks."""

    deployment: Deployment
    model: Registry
    settings: Settings
    samples: Sequence[SampleItem]
    mark: str
    wire: Wire
    letters: LetterQueue
    options: SmokeOptions = field(default_factory=SmokeOptions)
    stop: Shutdown = field(default_factory=Shutdown)
    clock: Callable[[], float] = monotonic
    now: Callable[[], float] = time
    calls: Counter[str] = field(default_factory=Counter)  # by service and operation
    sent_bytes: int = 0  # of items and rows
    written_at: float | None = None  # when the first scratch item was written, by `now`
    began_at: float = field(init=False)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = self.clock() + MOST_SECONDS
        self.began_at = self.now()

    @property
    def aws(self) -> Aws:
        return self.deployment.aws

    @property
    def on_local_cloud(self) -> bool:
        """Whether the endpoint in the environment is not one of AWS."""
        urls = (url for name, url in self.deployment.environ.items() if name.startswith(ENDPOINT))
        hosts = [urlsplit(url).hostname or "" for url in urls]
        return any(not host.endswith(OF_AWS) for host in hosts)

    @property
    def routes(self) -> Mapping[str, Route]:
        """The sources and views by the name of the source."""
        by_table = routes(self.model, self.settings.sources)
        return {route.source.name: route for route in by_table.values()}

    @property
    def views_folder(self) -> Path:
        """The folder of the view files, relative to the folder of the app."""
        return Path(*views_package().split("."))

    @property
    def created_tables(self) -> frozenset[str]:
        """The tables that the deployment created for its sources."""
        stack = self.deployment.stack(SOURCES)
        return frozenset(stack.tables() if stack else ())

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        """Make a call, count it, and return its response; raises an AwsCallError."""
        self.calls[f"{service}:{operation}"] += 1
        method = xform_name(operation)
        return self.aws.run(service, operation, lambda client: getattr(client, method)(**arguments))

    def table(self, name: str) -> TableDescription:
        """Describe a table."""
        return TableDescription.of(self.call("dynamodb", "DescribeTable", TableName=name)["Table"])

    def check_stop(self) -> None:
        """Raise a StopRequestedError after Ctrl-C, or when the time of the run is used up."""
        if self.stop.event.is_set():
            msg = "the run was interrupted"
            raise StopRequestedError(msg)
        if self.clock() >= self._deadline:
            msg = f"the {MOST_SECONDS / 60:.0f} minutes of a run were used up"
            raise StopRequestedError(msg)

    def check_time(self, seconds: float) -> None:
        """Raise a StopRequestedError unless that much time is left."""
        self.check_stop()
        if self._deadline - self.clock() < seconds:
            msg = f"too few of the {MOST_SECONDS / 60:.0f} minutes of a run were left"
            raise StopRequestedError(msg)

    def pause(self, seconds: float) -> None:
        """Sleep; raises a StopRequestedError."""
        self.check_stop()
        self.stop.sleep(min(seconds, max(0.0, self._deadline - self.clock())))
        self.check_stop()

    def patience(self, seconds: float) -> float:
        """Return how long to wait for something of AWS: a local cloud has it at once, or never."""
        return min(seconds, LOCAL_SECONDS) if self.on_local_cloud else seconds

    def wait(self, see: Callable[[], Result], seconds: float) -> tuple[Result, float]:
        """Repeat *see* until it returns something true, at most for *seconds*.

        Returns what it returned last, and the seconds that passed.
        """
        began = self.clock()
        while not (result := see()) and self.clock() - began < seconds:
            self.pause(POLL_SECONDS)
        return result, self.clock() - began

    # Items and rows.

    def scratch(self, source: str, suffix: str = "") -> ScratchItem:
        """Return a scratch item of a source; raises an UnknownError that says why there is none."""
        route = self.routes[source]
        if route.table not in self.created_tables and not self.options.imported:
            msg = f"{source} is an imported table, to which smoke writes nothing unless allowed"
            raise UnknownError(msg, "allow scratch items in imported tables with --imported")
        images = self.images(source)
        if not images:
            msg = f"there is no sample item of {source}"
            raise UnknownError(msg, SAMPLE_ADVICE)
        reasons = []
        for image in images:
            try:
                return scratch_item(route, image, f"{suffix}{self.mark}")
            except ScratchError as error:
                reasons.append(str(error))
        msg = f"no sample item of {source} can be copied: {reasons[0]}"
        raise UnknownError(msg, f"add another item of {source} to the sample")

    def any_scratch(self, suffix: str) -> ScratchItem:
        """Return a scratch item of the first source that has one; raises an UnknownError."""
        problem = UnknownError("there is no source", SAMPLE_ADVICE)
        for source in self.routes:
            try:
                return self.scratch(source, suffix)
            except UnknownError as error:
                problem = error
        raise problem

    def images(self, source: str) -> list[Attributes]:
        """Return the sample items of a source."""
        return [sample.image for sample in self.samples if sample.source.name == source]

    def put(self, item: ScratchItem, cleanup: Cleanup, image: Attributes | None = None) -> None:
        """Write a scratch item, and delete it at the end."""
        self.check_stop()
        cleanup.add(f"an item of {item.route.source.name}", lambda: self.delete(item))
        self._write(item.route.table, image or item.image)
        if self.written_at is None:
            self.written_at = self.now()

    def change(self, item: ScratchItem) -> None:
        """Overwrite a scratch item that was put before."""
        self._write(item.route.table, item.image)

    def delete(self, item: ScratchItem) -> None:
        self.call("dynamodb", "DeleteItem", TableName=item.route.table, Key=for_boto3({**item.key}))

    def put_row(self, row: Attributes, cleanup: Cleanup) -> None:
        """Write a scratch row into the view, and delete it at the end."""
        cleanup.add("a row of the view", lambda: self.delete_row(key_of(row)))
        self._write(self.settings.view_table, row)

    def delete_row(self, key: RowKey) -> None:
        """Delete a scratch row of the view."""
        table = self.settings.view_table
        self.call("dynamodb", "DeleteItem", TableName=table, Key=key_image(key))

    def row(self, key: RowKey) -> Attributes | None:
        """Read a row, consistently."""
        response = self.call(
            "dynamodb",
            "GetItem",
            TableName=self.settings.view_table,
            Key=key_image(key),
            ConsistentRead=True,
        )
        return from_boto3(response["Item"]) if response.get("Item") else None

    def _write(self, table: str, image: Attributes) -> None:
        self.sent_bytes += len(dumps(image))
        self.call("dynamodb", "PutItem", TableName=table, Item=for_boto3(image))
