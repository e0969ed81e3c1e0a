"""A first deployment of prod that fails can be repeated.

This cloud creates a table over one of the same name, ignores the deletion protection of tables that
CloudFormation creates, and imports none. So the tests look at what is kept, and at the request that
lets CloudFormation adopt it. tests/infra/test_tables.py shows that CloudFormation may.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError

from tests.support.e2e.cloud import Checkout, local_cloud

# CloudFormation creates no secret parameters: here, as on AWS, the stack fails after its table.
BROKEN = """\
stack = app.node.find_child(options.stack("View"))
broken = cdk.CfnResource(
    stack, "Broken", type="AWS::SSM::Parameter", properties={"Type": "SecureString", "Value": "x"}
)
broken.node.add_dependency(stack.view.table)
"""
SYNTH = "app.synth()\n"
PROTECTED = "TerminationProtection is enabled"
IMPORT = "--import-existing-resources"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Start an empty cloud."""
    with local_cloud(tmp_path_factory.mktemp("first")) as started:
        started.bootstrap()
        yield started


@contextmanager
def recorded(endpoint: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Forward requests to *endpoint*; yield the URL to use, and the forms that were sent."""
    forms: list[dict[str, str]] = []

    class Forwarder(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            forms.append({name: values[-1] for name, values in parse_qs(body.decode()).items()})
            request = Request(f"{endpoint}{self.path}", body, {**self.headers})  # noqa: S310
            with urlopen(request) as response:  # noqa: S310 - a URL of this machine
                content = response.read()
                self.send_response(response.status)
                self.send_header("Content-Type", response.headers["Content-Type"])
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Forwarder) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", forms
        server.shutdown()


class Attempts:
    """Deployments of the View stack of prod, under a prefix of their own."""

    def __init__(self, cloud: Checkout, prefix: str, protect: str) -> None:
        self.cloud, self.prefix, self.protect = cloud, prefix, protect
        self.stack = f"{prefix}AdminView-prod-View"
        self.table = f"{prefix}AdminViewTable"

    def deploy(self, *options: str, **environment: str) -> str:
        """Deploy, and return the errors; empty if there are none."""
        done = self.cloud.run(
            *("node_modules/.bin/cdk", "deploy", self.stack, "--require-approval", "never"),
            *("-c", "adminview:stage=prod", "-c", f"adminview:prefix={self.prefix}"),
            *("-c", f"adminview:protect={self.protect}"),
            *options,
            **environment,
        )
        return done.stdout + done.stderr if done.returncode else ""

    def fail(self) -> None:
        """Let the first deployment fail, then remove the cause."""
        self.cloud.edit("app.py", (SYNTH, BROKEN + SYNTH))
        assert "SecureString" in self.deploy()
        self.cloud.edit("app.py", (BROKEN, ""))
        assert self.status() == "ROLLBACK_COMPLETE"

    def status(self) -> str:
        stacks = self.cloud.client("cloudformation").describe_stacks(StackName=self.stack)
        return str(stacks["Stacks"][0]["StackStatus"])

    def exists(self) -> bool:
        return self.table in self.cloud.client("dynamodb").list_tables()["TableNames"]

    def finding(self, name: str) -> Any:
        done = self.cloud.run(
            *(sys.executable, "-m", "adminview.cli.main", "doctor", "--json"),
            *("--stage", "prod", "--prefix", self.prefix),
        )
        return next(
            finding for finding in json.loads(done.stdout)["findings"] if finding["name"] == name
        )


def test_a_first_deployment_that_failed_is_simply_repeated(cloud: Checkout) -> None:
    first = Attempts(cloud, "new-", protect="false")
    first.fail()
    assert not first.exists(), "nothing is in the way of the next attempt"
    assert first.deploy() == ""
    assert (first.exists(), first.status()) == (True, "CREATE_COMPLETE")
    protection = first.finding("protection")
    assert protection["state"] == "warning"
    assert f"stacks {first.stack}" in protection["seen"]


def test_the_second_deployment_protects_the_stack(cloud: Checkout) -> None:
    second = Attempts(cloud, "new-", protect="true")
    assert second.deploy() == ""
    assert "stacks" not in second.finding("protection")["seen"]
    with pytest.raises(ClientError, match=PROTECTED):
        cloud.client("cloudformation").delete_stack(StackName=second.stack)


def test_a_first_deployment_that_was_protected_is_repeated_as_the_doctor_says(
    cloud: Checkout,
) -> None:
    eager = Attempts(cloud, "eager-", protect="true")
    eager.fail()
    assert eager.exists(), "a rollback could not delete a protected table"
    assert PROTECTED in eager.deploy()

    (advice,) = eager.finding(f"stack {eager.stack}")["do"]
    release = "update-termination-protection --no-enable-termination-protection"
    assert f"{release} --stack-name {eager.stack}" in advice
    cloud.client("cloudformation").update_termination_protection(
        StackName=eager.stack, EnableTerminationProtection=False
    )
    assert advice.split(" (")[0].endswith(f" {IMPORT}")
    with recorded(cloud.environment["AWS_ENDPOINT_URL"]) as (url, forms):
        assert eager.deploy(IMPORT, AWS_ENDPOINT_URL_CLOUDFORMATION=url) == ""
    (created,) = [form for form in forms if form["Action"] == "CreateChangeSet"]
    assert created["StackName"] == eager.stack
    assert created["ChangeSetType"] == "CREATE"
    assert created["ImportExistingResources"] == "true"
