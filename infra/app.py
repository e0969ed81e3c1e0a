"""The stacks of one deployment."""

from aws_cdk import Tags
from constructs import Construct

from adminview.cdk import DeploymentOptions, source_streams
from infra.api_stack import ApiStack
from infra.recovery_stack import RecoveryStack
from infra.sources_stack import SourcesStack
from infra.sync_stack import SyncStack
from infra.totals_stack import TotalsStack
from infra.view_stack import ViewStack
from infra.watch_stack import WatchStack


def build(scope: Construct, options: DeploymentOptions) -> None:
    """Add the stacks of one deployment. Stacks with data are separate from those without."""
    # CloudFormation accepts no stack without resources.
    sources = (
        SourcesStack(scope, options.stack("Sources"), options=options)
        if options.owned_sources
        else None
    )
    streams = source_streams(options, sources.sources.streams if sources else {})
    view = ViewStack(scope, options.stack("View"), options=options)
    totals = (
        TotalsStack(scope, options.stack("Totals"), options=options, view=view.view)
        if options.has_totals
        else None
    )
    sync = SyncStack(scope, options.stack("Sync"), options=options, view=view.view, streams=streams)
    recovery = RecoveryStack(
        scope,
        options.stack("Recovery"),
        options=options,
        view=view.view,
        streams=streams,
        sync=sync.sync,
    )
    if totals:
        totals.totals.precede(sync, recovery)
    api = ApiStack(scope, options.stack("Api"), options=options, view=view.view, sync=sync.sync)
    api.add_stack_dependency(recovery)  # which records what is ready
    watch = WatchStack(
        scope,
        options.stack("Watch"),
        options=options,
        sync=sync.sync,
        recovery=recovery.recovery,
        api=api.api,
        totals=totals.totals if totals else None,
    )
    stacks = [stack for stack in (sources, view, totals, sync, recovery, api, watch) if stack]
    for stack in stacks:
        if stack is not watch:
            watch.add_stack_dependency(stack)
        # Also stacks without data: unsubscribed streams lose records after a day.
        stack.termination_protection = options.stage.protect
        for name, value in options.tags.items():
            Tags.of(stack).add(name, value)
