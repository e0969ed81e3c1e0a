"""The cold start of the real Lambda bundle, with and without bytecode.

A fresh process imports the sync handler from the bundle alone and syncs one record. Python's own
site-packages come last on its path, as boto3 does in Lambda. The bytecode is compiled by the
interpreter that runs the benchmark, so that the comparison works with any version of it.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from sysconfig import get_path
from typing import Any, Final

from adminview.aws.manifest import Manifest
from adminview.cdk import bundle as bundling
from adminview.examples.shop import registry
from bench.stub_client import StubClient
from bench.worker_processes import worker_environment

FOLDER: Final = Path("build", "bench-bundle")
WITH, WITHOUT = "with bytecode", "without"
RUN: Final = """
import json, sys
from time import perf_counter, process_time
bundle, site_packages = sys.argv[1:]
sys.path[:0] = [bundle]
sys.path.append(site_packages)
event = json.loads(sys.stdin.read())

class Context:
    aws_request_id = "1"
    function_name = "bench"
    def get_remaining_time_in_millis(self):
        return 60_000

seconds, processor = perf_counter(), process_time()
from lambdas.sync import handler
response = handler(event, Context())
timing = {"seconds": perf_counter() - seconds, "processor": process_time() - processor}
assert response == {"batchItemFailures": []}, response
print(json.dumps(timing))
"""


def measure(stub: StubClient, rounds: int) -> dict[str, Any]:
    """Time the first event of fresh processes, with and without bytecode in turn."""
    stub.set_latency(0)
    compiled = _build()
    uncompiled = FOLDER / "without-bytecode"
    shutil.rmtree(uncompiled, ignore_errors=True)
    shutil.copytree(compiled, uncompiled, ignore=shutil.ignore_patterns("__pycache__"))
    bundles = {WITH: compiled, WITHOUT: uncompiled.resolve()}
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in bundles}
    for _ in range(rounds):
        for name, bundle in bundles.items():
            samples[name].append(_run(bundle, stub))
    return {
        name: {figure: median(timing[figure] for timing in timings) for figure in timings[0]}
        for name, timings in samples.items()
    }


def lines(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the report: the processor time of both, and their ratio."""
    compiled, uncompiled = results[WITH]["processor"], results[WITHOUT]["processor"]
    yield "Cold start of the real bundle, processor time to the end of the first record"
    yield f"  {compiled:.3f} s {WITH}, {uncompiled:.3f} s {WITHOUT}: {compiled / uncompiled:.0%}"


def _build() -> Path:
    views = registry()
    manifest = Manifest(
        views.fingerprint,
        tuple(module.__name__ for module in views.modules),
        sources={source.name: source.name for source in views.sources},
    )
    original = bundling.runtime_python
    bundling.runtime_python = lambda: sys.executable  # type: ignore[assignment]
    try:
        return bundling.build_bundle(views, manifest, handlers="lambdas", build=FOLDER)
    finally:
        bundling.runtime_python = original


def _run(bundle: Path, stub: StubClient) -> dict[str, float]:
    completed = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-S", "-B", "-c", RUN, str(bundle), get_path("purelib")],
        cwd="/",
        env=worker_environment(stub),
        input=json.dumps(_event()),
        capture_output=True,
        text=True,
        check=True,
    )
    timing: dict[str, float] = json.loads(completed.stdout.splitlines()[-1])
    return timing


def _event() -> dict[str, Any]:
    """Return an event with one record, which changes one row: a user of the shop is renamed."""
    stream = "arn:aws:dynamodb:us-east-1:1:table/Users/stream/2026-01-01T00:00:00.000"
    key = {"userId": {"S": "u-1"}}
    old, new = ({**key, "name": {"S": name}} for name in ("Ada", "Ada L."))
    change = {"SequenceNumber": "1", "Keys": key, "OldImage": old, "NewImage": new}
    record = {"eventName": "MODIFY", "eventSourceARN": stream, "dynamodb": change}
    return {"Records": [record]}
