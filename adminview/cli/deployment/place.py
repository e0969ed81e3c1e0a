"""The deployment that a plan is about, and how to read it."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import boto3

from adminview.aws.clients import Clients
from adminview.aws.settings import VIEW_TABLE
from adminview.cli.deployment.find import STAGE
from adminview.cli.deployment.read import (
    EngineReader,
    StackReader,
    Tables,
    imported_sources,
    view_of,
)
from adminview.cli.endpoints import check_endpoints
from adminview.cli.planning.lock import ROOT, Lock, read_description
from adminview.local.settings import ENDPOINT


@dataclass(frozen=True, slots=True)
class Place:
    """The deployment that is meant."""

    stage: str | None
    prefix: str
    against: Path | None

    @property
    def local(self) -> bool:
        """Tell whether it is an engine without stacks."""
        named = self.stage or self.prefix
        return bool(os.environ.get(VIEW_TABLE) or (os.environ.get(ENDPOINT) and not named))

    @property
    def tables(self) -> Tables:
        """Find its tables."""
        check_endpoints(os.environ, "DYNAMODB")
        name = (os.environ.get(VIEW_TABLE) if self.local else None) or view_of(self.prefix)
        return Tables(Clients().dynamodb, name, time.time)

    @property
    def reader(self) -> StackReader | EngineReader:
        """Find out how to read what is there."""
        old = read_description(self.against) if self.against else Lock().read()
        if self.local:
            return EngineReader(self.tables, old)
        check_endpoints(os.environ, "CLOUDFORMATION")
        return StackReader(
            boto3.client("cloudformation"),
            self.tables,
            self.stage or STAGE,
            self.prefix,
            imported_sources(ROOT),
            old,
        )
