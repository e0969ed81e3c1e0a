"""The whole deployment on a cloud that obeys its policies, each of them, on every call.

It is spoken to over TLS, as AWS is, for the dead-letter queue takes nothing that comes otherwise.
Functions are called, and streams followed, by the tests; what the cloud would do by itself is
switched off, for it has no failure rules. A role may do nothing unless a test says so.
"""

import json
import re
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3

from adminview.aws.settings import BACKFILL_MACHINE_OUTPUT, MAPPINGS_OUTPUT, stack_name
from adminview.local.event_source import EventSource, RetryDelay
from adminview.local.event_source.on_failure import no_destination
from adminview.model.delivery import TOTALS_DELIVERY, Delivery
from adminview.model.row import VIEW_TABLE
from tests.support.e2e.certificate import write_certificate
from tests.support.e2e.cloud import REGION, Checkout, local_cloud
from tests.support.e2e.grants import Role

APP = 'PATH=".venv/bin:$PATH" python3 app.py closed'
ACCOUNT = "000000000000"
ASSETS = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
# As CloudFormation names it: the stack, the construct, a hash.
FUNCTION = re.compile(r"-([A-Za-z]+)Function[0-9A-F]{8}-")
MAX_CONCURRENCY = Delivery(window_seconds=0)


class FunctionFailedError(Exception):
    """A deployed function raised."""


@dataclass(frozen=True)
class Function:
    """A deployed function, and the role that it runs in."""

    name: str
    role: Role


@dataclass
class Clock:
    """The time, which sleeping moves on at once."""

    ahead: float = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds


@dataclass
class Closed:
    """What is deployed, and how a test reaches it."""

    checkout: Checkout
    logged: str = ""  # by the function that was called last
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """Give a client with rights to everything."""
        if service not in self._clients:
            key = self.checkout.environment["AWS_ACCESS_KEY_ID"]
            secret = self.checkout.environment["AWS_SECRET_ACCESS_KEY"]
            self._clients[service] = self._connect(boto3.Session(key, secret), service)
        return self._clients[service]

    def leave(self) -> None:
        """Close what is open: the cloud would wait for it before it ends."""
        for client in self._clients.values():
            client.close()

    def _connect(self, session: boto3.Session, service: Any) -> Any:
        return session.client(
            service,
            region_name=REGION,
            endpoint_url=self.checkout.environment["AWS_ENDPOINT_URL"],
            verify=self.checkout.environment["AWS_CA_BUNDLE"],
        )

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """Find the deployed functions, by the names of their constructs."""
        configurations = self.client("lambda").list_functions()["Functions"]
        return {
            _construct(configuration["FunctionName"]): Function(
                configuration["FunctionName"],
                Role(self.client("iam"), configuration["Role"].rpartition("/")[2]),
            )
            for configuration in configurations
        }

    def output(self, stack: str, name: str) -> str:
        """Read what a stack tells."""
        stacks = self.client("cloudformation").describe_stacks(
            StackName=stack_name("", "dev", stack)
        )
        outputs = stacks["Stacks"][0]["Outputs"]
        return next(str(output["OutputValue"]) for output in outputs if output["OutputKey"] == name)

    @cached_property
    def queue(self) -> str:
        """Name the dead-letter queue."""
        return self.output("Sync", "DeadLetterQueueUrl")

    @cached_property
    def mappings(self) -> Mapping[str, str]:
        """Name the event source mapping of each source."""
        uuids: dict[str, str] = json.loads(self.output("Sync", MAPPINGS_OUTPUT))
        return uuids

    @contextmanager
    def only(self, *names: str) -> Iterator[None]:
        """Let the roles of some functions do what they were deployed for, and no other."""
        with ExitStack() as roles:
            for name in names:
                roles.enter_context(self.functions[name].role.at_work())
            yield

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Let the cloud itself deliver the streams, in its own way."""
        self._follow(enabled=True)
        try:
            yield
        finally:
            self._follow(enabled=False)

    def _follow(self, *, enabled: bool) -> None:
        for uuid in self.mappings.values():
            self.client("lambda").update_event_source_mapping(UUID=uuid, Enabled=enabled)

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:
        """Call a deployed function, and raise what it raised."""
        response = self.client("lambda").invoke(
            FunctionName=self.functions[function].name, Payload=json.dumps(event), LogType="Tail"
        )
        self.logged = b64decode(response.get("LogResult", "")).decode()
        result = json.loads(response["Payload"].read())
        if "FunctionError" in response:
            raise FunctionFailedError(result.get("errorMessage"))
        return result

    def stop_builds(self) -> None:
        """Stop what the build function has started."""
        states = self.client("stepfunctions")
        machine = self.output("Recovery", BACKFILL_MACHINE_OUTPUT)
        executions = states.list_executions(stateMachineArn=machine, statusFilter="RUNNING")
        for execution in executions["executions"]:
            states.stop_execution(executionArn=execution["executionArn"])

    def renew(self, function: str, environment: Mapping[str, str] | None = None) -> None:
        """Restart a function, so that it keeps nothing in memory."""
        name, client = self.functions[function].name, self.client("lambda")
        environment_now = client.get_function_configuration(FunctionName=name)["Environment"]
        variables = environment_now["Variables"] if environment is None else dict(environment)
        client.update_function_configuration(
            FunctionName=name, Environment={"Variables": variables}
        )

    def environment_of(self, function: str) -> dict[str, str]:
        """Return the environment variables of a function."""
        name = self.functions[function].name
        configuration = self.client("lambda").get_function_configuration(FunctionName=name)
        variables: dict[str, str] = configuration["Environment"]["Variables"]
        return variables

    def stream_of(self, source: str) -> str:
        """Name the stream that a mapping reads."""
        return str(self.mapping(source)["EventSourceArn"])

    def mapping(self, source: str) -> Any:
        """Read a mapping as it was deployed."""
        return self.client("lambda").get_event_source_mapping(UUID=self.mappings[source])

    def rules(self, source: str) -> Delivery:
        """Read by which rules a mapping delivers."""
        mapping = self.mapping(source)
        return Delivery(
            batch_size=mapping["BatchSize"],
            window_seconds=mapping["MaximumBatchingWindowInSeconds"],
            parallelization=mapping["ParallelizationFactor"],
            bisect=mapping["BisectBatchOnFunctionError"],
            retries=mapping["MaximumRetryAttempts"],
            max_age_seconds=mapping["MaximumRecordAgeInSeconds"],
        )

    @cached_property
    def as_sync(self) -> boto3.Session:
        return self._session("Sync")

    def _session(self, function: str) -> boto3.Session:
        """Open a session in a function's role: Lambda reads streams and sends dead letters with it.

        The role trusts only Lambda, so its policy is changed to trust this account as well.
        """
        role = self.functions[function].role
        iam = self.client("iam")
        description = iam.get_role(RoleName=role.name)["Role"]
        trust = description["AssumeRolePolicyDocument"]
        root = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
        statements = [*trust["Statement"], {**trust["Statement"][0], "Principal": root}]
        iam.update_assume_role_policy(
            RoleName=role.name, PolicyDocument=json.dumps({**trust, "Statement": statements})
        )
        request = {"RoleArn": description["Arn"], "RoleSessionName": "event-source"}
        keys = self.client("sts").assume_role(**request)["Credentials"]
        return boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])

    def event_source(
        self,
        source: str,
        delivery: Delivery = MAX_CONCURRENCY,
        clock: Clock | None = None,
        **more: Any,
    ) -> EventSource:
        """Follow a stream as Lambda does, in the role of the sync, and call the deployed sync."""
        clock = clock or Clock()
        sqs = self._connect(self.as_sync, "sqs")
        wiring: dict[str, Any] = {
            "handler": lambda event, _: self.invoke("Sync", event),
            "on_failure": lambda letter: sqs.send_message(
                QueueUrl=self.queue, MessageBody=json.dumps(letter)
            ),
            "backoff": RetryDelay(first=1.0),
        }
        return EventSource(
            streams=self._connect(self.as_sync, "dynamodbstreams"),
            stream_arn=self.stream_of(source),
            delivery=delivery,
            clock=clock.now,
            sleep=clock.sleep,
            **(wiring | more),
        )

    def totals_source(self) -> EventSource:
        """Follow the view's stream in windows, in the role of the totals function, and call it.

        The cloud itself has no windows.
        """
        clock = Clock()
        table = self.client("dynamodb").describe_table(TableName=VIEW_TABLE)["Table"]
        return EventSource(
            streams=self._connect(self._session("Totals"), "dynamodbstreams"),
            stream_arn=table["LatestStreamArn"],
            handler=lambda event, _: self.invoke("Totals", event),
            on_failure=no_destination,
            delivery=replace(TOTALS_DELIVERY, window_seconds=0),
            backoff=RetryDelay(first=1.0),
            clock=clock.now,
            sleep=clock.sleep,
        )


@contextmanager
def closed_cloud(folder: Path) -> Iterator[Closed]:
    """Deploy everything to a cloud that obeys its policies, and let no role do anything yet."""
    certificate, key = write_certificate(folder)
    settings = {
        "AUTH": "true",
        "USE_SSL": "1",
        "MINISTACK_SSL_CERT": certificate,
        "MINISTACK_SSL_KEY": key,
        "AWS_CA_BUNDLE": certificate,  # for the functions, too
        "SSL_CERT_FILE": certificate,  # for what they say to CloudFormation
    }
    with local_cloud(folder, **settings) as started:
        closed = Closed(Checkout(folder, _over_tls(started.environment, certificate)))
        # All that bootstrapping makes and this way of deploying uses.
        closed.client("s3").create_bucket(Bucket=ASSETS)
        closed.checkout.cdk("deploy", "--all", "--require-approval", "never", "--app", APP)
        yield prepared(closed)
        closed.leave()


def _over_tls(environment: Mapping[str, str], certificate: str) -> dict[str, str]:
    """Tell commands to speak to the cloud over TLS, and by which certificate they know it."""
    return {
        **environment,
        "AWS_ENDPOINT_URL": environment["AWS_ENDPOINT_URL"].replace("http:", "https:"),
        "AWS_CA_BUNDLE": certificate,
        "NODE_EXTRA_CA_CERTS": certificate,
    }


def prepared(closed: Closed) -> Closed:
    """Let no role do anything, and the cloud deliver nothing by itself."""
    for mapping in closed.client("lambda").list_event_source_mappings()["EventSourceMappings"]:
        closed.client("lambda").update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    closed.stop_builds()
    for function in closed.functions.values():
        function.role.let({})
    return closed


def _construct(function: str) -> str:
    match = FUNCTION.search(function)
    assert match, f"{function} is not named as CloudFormation does"
    return match[1]
