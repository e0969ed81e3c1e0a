"""From declarations to stacks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import aws_cdk as cdk

from adminview.cdk.lambda_code import LambdaCode, bundled_code
from adminview.cdk.options import Deployment
from adminview.model import Migration, Registry
from infra.api_stack import ApiStack
from infra.recovery_stack import RecoveryStack
from infra.sources_stack import SourcesStack, SourceStream, label_of
from infra.sync_stack import SyncStack
from infra.view_stack import ViewStack
from infra.watch_stack import WatchStack


def build(
    app: cdk.App,
    registry: Registry,
    migrations: Iterable[Migration] = (),
    code: LambdaCode | None = None,
) -> None:
    """Add the stacks of one deployment, as the context describes it. What holds data is apart.

    Raises a BundleError if *code*, by default this checkout's, has another model than *registry*.
    """
    code = code or bundled_code()
    code.check(registry)
    deployment = replace(Deployment.read(app.node.get_all_context(), registry), code=code)
    followed = tuple(_follow(app, registry, deployment))
    view = ViewStack(app, deployment.stack("View"), registry=registry, deployment=deployment)
    sync = SyncStack(
        app,
        deployment.stack("Sync"),
        registry=registry,
        deployment=deployment,
        view_table=view.table,
        followed=followed,
    )
    RecoveryStack(
        app,
        deployment.stack("Recovery"),
        deployment=deployment,
        settings=sync.settings,
        dead_letters=sync.dead_letters,
        view_table=view.table,
        followed=followed,
        mappings=sync.mappings,
        migrated=_migrated(followed, migrations),
    )
    api = ApiStack(
        app,
        deployment.stack("Api"),
        registry=registry,
        deployment=deployment,
        settings=sync.settings,
        sync=sync.sync,
        view_table=view.table,
        followed=followed,
    )
    watch = WatchStack(
        app,
        deployment.stack("Watch"),
        registry=registry,
        deployment=deployment,
        dead_letters=sync.dead_letters,
        sync=sync.sync,
        api=api.api,
        followed=followed,
    )
    for stack in app.node.find_all():
        if isinstance(stack, cdk.Stack) and stack is not watch:
            watch.add_stack_dependency(stack)
    _protect_and_tag(app, deployment)


def _protect_and_tag(app: cdk.App, deployment: Deployment) -> None:
    """Apply to every stack what the stage and the context ask for."""
    for stack in app.node.find_all():
        if isinstance(stack, cdk.Stack):
            # Those without data too: without a subscription, streams forget within a day.
            stack.termination_protection = deployment.stage.protect
    for name, value in deployment.tags.items():
        cdk.Tags.of(app).add(name, value)


def _follow(app: cdk.App, registry: Registry, deployment: Deployment) -> Iterator[SourceStream]:
    """Create the sources we own, take the others as the context names them; in declared order."""
    owned = [source for source in registry.sources if source.name not in deployment.imported]
    # CloudFormation takes no stack without resources.
    stack = owned and SourcesStack(
        app, deployment.stack("Sources"), owned=owned, deployment=deployment
    )
    created = stack.followed if stack else {}
    for source in registry.sources:
        if table := deployment.imported.get(source.name):
            yield SourceStream(
                source,
                table.table_name,
                table.table_arn,
                table.stream_arn,
                label_of(table.stream_arn),
            )
        else:
            yield created[source.name]


def _migrated(
    followed: Sequence[SourceStream], migrations: Iterable[Migration]
) -> list[SourceStream]:
    """List the tables that migrations write to."""
    sources = {migration.source.name for migration in migrations}
    return [table for table in followed if table.source.name in sources]
