"""`adminview dev`: run the app on a local engine, and reload view files that change."""

import os
import signal
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer
from botocore.config import Config

from adminview.aws.boto3_clients import CLIENT, dynamodb_client, sqs_client
from adminview.aws.clients import Clients
from adminview.aws.endpoints import ACCESS_KEY, ENDPOINT, IGNORED, LOCAL_KEY, SDK_REGION, SECRET_KEY
from adminview.aws.settings import MIGRATIONS_PACKAGE, QUEUE_URL, VIEWS_PACKAGE
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.checks.static import static_findings
from adminview.cli.commands.check import view_requirements
from adminview.cli.commands.console import PORT as CONSOLE_PORT
from adminview.cli.commands.serve import PORT, make_api
from adminview.cli.console.dev_console import DevConsole
from adminview.cli.endpoints import check_endpoints
from adminview.cli.errors import EXPECTED_ERRORS, usage_errors
from adminview.cli.model_lock.model_diff import ModelDiff
from adminview.cli.model_lock.wording import describe_diff
from adminview.cli.output.errors import report_error
from adminview.cli.output.printing import counting, doing, echo, idle
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.examples.shop import sample_data
from adminview.http_api.handlers import Api
from adminview.item_files import LINE
from adminview.local.dev.item_checks import ItemChecks, read_sample
from adminview.local.dev.items import WaitingItems, check_writes, read_items
from adminview.local.dev.session import DevEngine, Hooks, ModelChange, Session
from adminview.local.dev.tracebacks import app_traceback
from adminview.local.dev.view_files import ViewFiles
from adminview.local.engines import ENGINES, EngineName, free_port, moto_engine
from adminview.local.http_server import LOOPBACK, LocalGateway, Server
from adminview.local.local_cloud import QUEUE, environment_of, export_line
from adminview.local.source_writes import Delete, Put
from adminview.model import Registry
from adminview.model.errors import AdminViewError, ServiceError, SettingsError
from adminview.model.row import VIEW_TABLE
from adminview.query.engine import QueryEngine
from adminview.views import migrations_package, views_package

ENGINE_PORT: Final = 8000  # of the embedded engine, if it is free: exported variables stay valid
POLL_SECONDS: Final = 0.5  # between two looks at the view files; a change counts at the second
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AWS_HOSTS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
SHOP: Final = "shop"
STOPPING: Final = "stopping (a second Ctrl-C ends at once)"
# A busy engine may take longer than AWS; several streams and the API share the connections.
PATIENT: Final = Config(read_timeout=30, max_pool_connections=64)


def dev(
    *,
    engine: Annotated[
        EngineName | None,
        typer.Option(help="Engine to start; without it, the one at AWS_ENDPOINT_URL, or moto."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help=f"Port of the HTTP API; without it, {PORT} or another free one.", min=0, max=65535
        ),
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Option(
            "--items-file",
            metavar="FILE",
            help=f"Load items from a file, one per line: {LINE}; `shop` loads the data of the "
            "demo. May be repeated.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            file_okay=False,
            writable=True,
            help="Keep the source items in this folder for the next run. Rows are rebuilt.",
        ),
    ] = None,
) -> None:
    """Run your app locally: sync, totals and HTTP API, until Ctrl-C.

    Starts an engine, creates tables, indexes and the dead-letter queue, and
    runs the same functions on the streams as a deployment. When you save a
    view file, it prints what changed and rebuilds the rows.
    """
    with usage_errors():
        writes = [write for name in items or () for write in _writes(name)]
        waiting = WaitingItems(data)
    if data and not engine and os.environ.get(ENDPOINT):
        msg = (
            f"the engine at {ENDPOINT} keeps its own data; unset {ENDPOINT} to start an engine "
            "here, whose items --data keeps"
        )
        raise typer.BadParameter(msg, param_hint="--data")
    files = ViewFiles(views_package())
    with ExitStack() as running:
        stop = running.enter_context(
            graceful_shutdown(signals=SIGNALS, on_request=partial(counting, STOPPING))
        )
        if (registry := _first_model(files, stop)) is None:
            return
        check_writes(writes, registry)
        doing("starting")
        connected, variables = running.enter_context(_connect(engine, os.environ, port))
        gateway = LocalGateway(_api(registry, connected))

        console = DevConsole(connected, "adminview dev")

        def publish(model: Registry) -> None:
            gateway.api = _api(model, connected)
            console.publish(model)

        hooks = Hooks(
            echo,
            publish,
            _compare,
            stop.event.is_set,
            console.counts.add,
            counting,
            console.paused,
        )
        session = Session(connected, hooks, waiting)
        running.callback(_end, session)
        session.begin(registry)
        print_findings(registry)
        server = Server(LOOPBACK, free_port(PORT) if port is None else port, gateway)
        running.enter_context(server.running())
        shown = running.enter_context(console.listen(free_port(CONSOLE_PORT)).running())
        session.load(writes)
        _print_addresses(variables, server.url, console.url(shown), registry)
        idle()
        _run(files, session, stop, registry)
        doing(STOPPING)


def _print_addresses(
    variables: Mapping[str, str], api_url: str, console_url: str, registry: Registry
) -> None:
    echo(f"\nIn another terminal:\n\n{export_line(variables)}\n")
    echo(f"open {api_url}/ for the access patterns and the API reference")
    echo(f"open {console_url} for the console")
    names = ", ".join(source.name for source in registry.sources)
    echo(f"following {names or 'no source yet'}; Ctrl-C to stop")


def _writes(name: str) -> Iterable[Put | Delete]:
    if name == SHOP:
        writes = (*sample_data.FIRST_DAY, *sample_data.SECOND_DAY, sample_data.POISON)
        return [replace(write, place=f"--items-file {SHOP}") for write in writes]
    return read_items(name)


def _first_model(files: ViewFiles, stop: Shutdown) -> Registry | None:
    """Load the view files; while they cannot be loaded, wait. Returns None if stopped."""
    while not stop.event.is_set():
        try:
            return files.load()
        except AdminViewError as error:
            if not files.exists:
                raise
            _report(error)
        echo("waiting until a view file changes; Ctrl-C to stop")
        idle()
        while not stop.event.is_set() and not files.changed():
            stop.sleep(POLL_SECONDS)
    return None


def _run(files: ViewFiles, session: Session, stop: Shutdown, model: Registry) -> None:
    """Reload view files that change, until stopped. Raises the error that ends a follower."""
    checks = ItemChecks(partial(read_sample, session.engine.clients.dynamodb), echo)
    while not stop.event.is_set():
        stop.sleep(POLL_SECONDS)
        session.follower.check()
        with suppress(ServiceError):  # the next look may succeed
            session.replay_outdated()
        if not files.changed():
            check_rows(checks, model, session, files, stop)
            continue
        doing("reloading")
        model = _reload(files, session) or model
        idle()


def _reload(files: ViewFiles, session: Session) -> Registry | None:
    """Load the files again, and change to their model; None if that is not possible."""
    try:
        registry = files.load()
    except AdminViewError as error:
        _report(error)
        echo("the model before this change stays until it is fixed")
        return None
    try:
        session.change_to(registry)
    except EXPECTED_ERRORS as error:
        _report(error)
        return None
    print_findings(registry)
    return registry


def check_rows(
    checks: ItemChecks, model: Registry, session: Session, files: ViewFiles, stop: Shutdown
) -> None:
    """Check the views with the items of the source tables, if the model or its items are new.

    The processes that derive the rows load the files again, so these must be those of the model.
    """
    if not files.are_loaded:
        return
    try:
        checks.look(model, frozenset(session.printer.sources))
    except EXPECTED_ERRORS as error:
        if not files.are_loaded:
            checks.repeat()  # a file was saved meanwhile
        elif not stop.event.is_set():  # Ctrl-C also ends those processes
            _report(error)


def print_findings(registry: Registry) -> None:
    """Print what `adminview check` finds without items."""
    for finding in static_findings(registry, view_requirements()):
        echo(str(finding))


def _report(error: Exception) -> None:
    """Print an error and, for one of a view file, its traceback."""
    report_error(error)
    if error.__cause__ and not isinstance(error.__cause__, AdminViewError | OSError):
        echo(app_traceback(error), err=True)


def _compare(old: Registry, new: Registry) -> ModelChange:
    diff = ModelDiff.between(old.description(), new.description())
    if diff.is_empty:
        return ModelChange(["reloaded: the model is the same"], ())
    lines = [f"reloaded: model {old.fingerprint} is now {new.fingerprint}"]
    for heading, changes in describe_diff(diff).items():
        lines += [f"  {heading}: {change}" for change in changes]
    return ModelChange(lines, diff.rebuilt, diff.sources.dropped)


@contextmanager
def _connect(
    name: EngineName | None, environ: MutableMapping[str, str], port: int | None
) -> Iterator[tuple[DevEngine, dict[str, str]]]:
    """Start an engine, or use the one that *environ* names, with a dead-letter queue.

    Yields it with the variables that another terminal needs. *environ* names it too. An engine
    that is started leaves *port* to the API.
    """
    owned = bool(name) or not environ.get(ENDPOINT)
    started = name or EngineName.MOTO
    with start_engine(started, environ, port) if owned else use_endpoint(environ) as variables:
        place = f"{started} (a local engine, not AWS)" if owned else environ[ENDPOINT]
        echo(f"AdminView on {place}, with the view files in {views_package()}")
        clients = Clients(dynamodb_client(CLIENT.merge(PATIENT)), sqs_client())
        engine = DevEngine(clients, variables[QUEUE_URL], owned)
        # Always: that terminal may still have the packages of another app, such as the demo's.
        packages = {VIEWS_PACKAGE: views_package(), MIGRATIONS_PACKAGE: migrations_package()}
        yield engine, variables | packages


@contextmanager
def start_engine(
    name: EngineName, environ: MutableMapping[str, str], port: int | None
) -> Iterator[dict[str, str]]:
    """Run an engine with a dead-letter queue, and let *environ* name it and nothing else."""
    usual = name is EngineName.MOTO and port != ENGINE_PORT
    with moto_engine(ENGINE_PORT) if usual else ENGINES[name]() as engine:
        for variable in [*environ]:
            if variable.startswith(ENDPOINT) or variable == IGNORED:
                del environ[variable]
        queue_url = engine.sqs().create_queue(QueueName=QUEUE)["QueueUrl"]
        variables = environment_of(engine, queue_url)
        environ.update(variables)
        yield variables


@contextmanager
def use_endpoint(environ: MutableMapping[str, str]) -> Iterator[dict[str, str]]:
    """Use the engine at the endpoint that *environ* names; its queue is moto's if it has none."""
    if (urlsplit(environ[ENDPOINT]).hostname or "").endswith(AWS_HOSTS):
        msg = f"{ENDPOINT} is AWS itself, where the deployed functions do this: unset it"
        raise SettingsError(msg)
    check_endpoints(environ, "DYNAMODB", "DYNAMODB_STREAMS")
    with ExitStack() as running:
        sqs = f"{ENDPOINT}_SQS"
        if environ.get(QUEUE_URL) or environ.get(sqs):
            check_endpoints(environ, "SQS")
        else:
            environ[sqs] = running.enter_context(moto_engine()).sqs_url
        if not environ.get(QUEUE_URL):
            environ[QUEUE_URL] = sqs_client().create_queue(QueueName=QUEUE)["QueueUrl"]
        names = [ENDPOINT, sqs, QUEUE_URL, SDK_REGION]
        if environ.get(ACCESS_KEY) == LOCAL_KEY:  # any other may be a secret
            names += [ACCESS_KEY, SECRET_KEY]
        yield {name: environ[name] for name in names if environ.get(name)}


def _api(registry: Registry, engine: DevEngine) -> Api:
    reader = ViewReader(Boto3Reader(engine.clients.dynamodb), VIEW_TABLE)
    return make_api(QueryEngine(registry, reader))


def _end(session: Session) -> None:
    count = session.end()
    if count is not None:
        echo(f"stopped; kept {count} items in {session.waiting.path}")
    elif session.engine.owned:
        echo("stopped, and all tables are gone; --data FOLDER keeps the items of the sources")
    else:
        echo("stopped; the tables stay")
