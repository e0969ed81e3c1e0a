"""The API answers every request as its OpenAPI document states, and never with a 5xx.

Random requests by schemathesis, right and wrong ones, always the same: against the local server, on
moto, with the shop's data. Its command is run rather than its plugin for pytest, whose tests all
have one name with pytest 9.2: xdist then runs a single one of them.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from aws_lambda_powertools import Logger

from adminview.examples.shop.sample_data import FIRST_DAY, PARAMETERS, SPECIAL
from adminview.http_api.handlers import Api
from adminview.http_api.health import NoAlarms
from adminview.http_api.openapi import document
from adminview.local.engines import moto_engine
from adminview.local.http_server import LOOPBACK, LocalGateway, Server
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import Put
from tests.support.model import registry

# Not that all which fits the schema is accepted: no schema can say what a cursor looks like.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
)
# 414 is the answer to a cursor that no line of HTTP can hold.
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = ["400", "404", "405", "414"]
"""
EXAMPLES = 20  # random ones, for each operation; those at the edges of the schema come besides
MODEL = "model-1"
ROW = {"PK": "USER#user-123", "SK": "ORDER#2025-03-01#2121195"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the shop."""
    with moto_engine() as engine:
        cloud = LocalCloud.start(engine, registry())
        for step in FIRST_DAY:
            assert isinstance(step, Put)
            cloud.put(step.source, step.item)
        cloud.settle()
        api = Api(cloud.query_engine, NoAlarms(), MODEL, Logger(service="fuzz"))
        with Server(LOOPBACK, 0, LocalGateway(api)).running() as server:
            yield server.url
        cloud.stop()  # moto keeps its tables for the next one in this process


def with_examples(described: dict[str, Any]) -> dict[str, Any]:
    """Add parameters that find something: random ones hardly would."""
    for path, operations in described["paths"].items():
        name = path.removesuffix("/count").rpartition("/")[2]
        parameters = {**PARAMETERS, **ROW, **SPECIAL.get(name, {})}
        for parameter in operations["get"]["parameters"]:
            if parameter["name"] in parameters:
                parameter["example"] = parameters[parameter["name"]]
    return described


@pytest.mark.slow
def test_every_answer_is_as_described(url: str, tmp_path: Path) -> None:
    described = requests.get(f"{url}/openapi.json", timeout=10).json()
    assert described == document(registry(), MODEL)
    (tmp_path / "openapi.json").write_text(json.dumps(with_examples(described)))
    (tmp_path / "config.toml").write_text(CONFIG)
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", "config.toml"),
        *("run", "openapi.json", "--url", url, "--checks", ",".join(CHECKS)),
        *("--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES)),
        *("--generation-deterministic", "--no-color"),
        *("--suppress-health-check", "all", "--request-timeout", "20"),
    ]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    printed = "\n".join(line[:300] for line in (done.stdout + done.stderr).splitlines())
    assert done.returncode == 0, printed
    count = len(described["paths"])
    assert re.search(rf"Selected: +{count}/{count}", printed), printed
    assert re.search(rf"Tested: +{count}\b", printed), printed
