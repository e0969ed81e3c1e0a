"""`adminview init`: generate the app that an adopter owns."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from adminview.aws.settings import MIGRATIONS_PACKAGE, VIEWS_PACKAGE
from adminview.cli.errors import UsageError
from adminview.cli.output.printing import echo
from adminview.examples import shop, starter
from adminview.model.errors import AdminViewError

# The files of the reference app that every app has; views, tests and README differ.
APP = ("app.py", "cdk.json", "infra/*.py", "lambdas/*.py", "lambdas/*/__init__.py")
SHOP = ("lambdas/views/*.py", "lambdas/migrations/*.py")
STARTER = ("lambdas/views/*.py", "tests/*.py")
SHOP_TESTS = starter.FOLDER / "shop"
REASON = "the first model of this app"
REQUIREMENTS = """# To upgrade AdminView, change its version here. No other file needs an edit.
adminview[cdk,local]=={version}
pytest
"""
NEXT = """generated {directory}; next:

  cd {directory}
  pip install -r requirements.txt
  pytest
  adminview dev    # run it on this machine; README.md goes on from there"""


class StartingPoint(StrEnum):
    STARTER = "starter"
    SHOP = "shop"


FIRST_QUERY = {
    StartingPoint.STARTER: """\
$ python -c "import boto3; boto3.resource('dynamodb').Table('Orders').put_item(Item={
    'orderId': 'o-1', 'customerId': 'c-1', 'status': 'PENDING', 'createdAt': '2026-01-31'})"
$ adminview query open-orders --status PENDING""",
    StartingPoint.SHOP: """\
$ python -c "import boto3; boto3.resource('dynamodb').Table('Users').put_item(Item={
    'userId': 'u-1', 'name': 'Ada', 'email': 'ada@shop.example'})"
$ adminview query user-profile --user-id u-1""",
}


class InitError(AdminViewError):
    """The app cannot be generated."""


def init(
    directory: Annotated[Path, typer.Argument(help="Folder that is empty or does not exist.")],
    *,
    example: Annotated[
        StartingPoint, typer.Option(help="Views to start with: one commented view, or the shop.")
    ] = StartingPoint.STARTER,
) -> None:
    """Generate an app: stacks, Lambda handlers, views, tests, README and model lock."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        msg = f"{directory} is not empty: name a folder that is empty or does not exist"
        raise UsageError(msg)
    name = directory.resolve().name
    for source, path in _files(example):
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    text = (starter.FOLDER / "README.md").read_text(encoding="utf-8")
    text = text.replace("{name}", name).replace("{example}", FIRST_QUERY[example])
    (directory / "README.md").write_text(text, encoding="utf-8")
    requirements = REQUIREMENTS.format(version=version("adminview"))
    (directory / "requirements.txt").write_text(requirements, encoding="utf-8")
    _lock(directory)
    echo(NEXT.format(directory=quote(str(directory))))


def _lock(directory: Path) -> None:
    """Lock the model in a new process: this one may have loaded views of another app."""
    command = [sys.executable, "-m", "adminview", "model", "lock", "--reason", REASON]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in (VIEWS_PACKAGE, MIGRATIONS_PACKAGE)
    }
    result = subprocess.run(  # noqa: S603 - our own command
        command, cwd=directory, env=environment, check=False, capture_output=True, text=True
    )
    if result.returncode:
        msg = f"the generated model cannot be locked:\n{result.stderr.strip()}"
        raise InitError(msg)


def _files(example: StartingPoint) -> Iterator[tuple[Path, str]]:
    """Yield each file to copy, and its path in the app."""
    root = shop.app_folder()
    patterns = [(root, pattern) for pattern in APP]
    if example is StartingPoint.SHOP:
        patterns += [(root, pattern) for pattern in SHOP]
        patterns += [(SHOP_TESTS, "tests/*.py")]
    else:
        patterns += [(starter.FOLDER, pattern) for pattern in STARTER]
    yield starter.FOLDER / "gitignore", ".gitignore"
    yield starter.FOLDER / "pytest.ini", "pytest.ini"
    for folder, pattern in patterns:
        for file in sorted(folder.glob(pattern)):
            yield file, str(file.relative_to(folder))
