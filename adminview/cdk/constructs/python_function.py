"""A Lambda function with its bundle, its log group and a role of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import Final, cast

from aws_cdk import CfnResource, Duration, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IConstruct

from adminview.aws.manifest import Manifest
from adminview.aws.settings import NAMESPACE, SOURCES, Settings
from adminview.cdk.constructs.log_group import LogGroup
from adminview.cdk.constructs.policies import managed_policies, split_statements
from adminview.cdk.constructs.suppress_nag import suppress_nag
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.errors import SettingsError

OLDER_RUNTIME: Final = (
    "Python 3.13 is the newest on which a view file is known to have the same fingerprint as on "
    "older ones (tests/unit/test_fingerprint.py), and the one that the bundle's wheels are for "
    "(adminview/cdk/bundle.py). Lambda supports it until June 2029."
)
DESCRIPTIONS_ARE_UNSCOPED: Final = "EC2 knows no resources for what only describes."
INTERFACES_HAVE_NO_NAME: Final = (
    "Lambda makes a function's network interfaces, and names them only then "
    "(adminview/cdk/network.py)."
)
TRACES_ARE_UNSCOPED: Final = "X-Ray knows no resources: traces can be sent, or not at all."


ENVIRONMENT_BYTES: Final = 4096  # of serialized JSON, set by Lambda
TOKEN: Final = re.compile(r"\$\{Token\[[^]]*\]\}")
ESTIMATE: Final = "x" * 25  # a stream's label; a name that CDK gives to a table is longer


class PythonFunction(Construct):
    """A Lambda function that may do what *statements* say, and write its own log."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        handler: str,
        description: str,
        memory_mb: int,
        timeout: Duration,
        settings: Settings,
        statements: Sequence[iam.PolicyStatement],
        options: DeploymentOptions,
        environment: Mapping[str, str] | None = None,  # besides the settings
        pending: Mapping[str, str | None] | None = None,  # access patterns that are not ready
        reserved_concurrency: int | None = None,
        unscoped: str = "",  # why one of them is about everything, if one is
    ) -> None:
        super().__init__(scope, id_)
        tracing, network = options.stage.tracing, options.network
        variables = {
            **_variables(settings),
            **(environment or {}),
            "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
        }
        _check_size(id_, variables)
        self.log_group = LogGroup(self, "Logs", options=options)
        write_log = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[self.log_group.log_group_arn],
        )
        inline, managed = split_statements(
            [write_log, *statements, *self._also(statements, options)]
        )
        # With the role, so that it has its permissions the moment it exists: Lambda tries them
        # when a stream is subscribed.
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"LeastPrivilege": iam.PolicyDocument(statements=inline)},
            managed_policies=managed_policies(self, managed) or None,
        )
        self.function = _Function(
            self,
            "Function",
            code=lambda_.Code.from_asset(str(_bundle(options, settings, pending or {}))),
            handler=options.handler(handler),
            description=description,
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            memory_size=memory_mb,
            timeout=timeout,
            role=self.role,
            log_group=self.log_group,
            environment_encryption=options.key_in(self),
            reserved_concurrent_executions=reserved_concurrency,
            tracing=lambda_.Tracing.ACTIVE if tracing else lambda_.Tracing.DISABLED,
            environment=variables,
        )
        if network:
            made = cast("lambda_.CfnFunction", self.function.node.default_child)
            made.vpc_config = network.vpc_config

        self._acknowledge(unscoped, options)

    def _also(
        self, statements: Sequence[iam.PolicyStatement], options: DeploymentOptions
    ) -> Iterator[iam.PolicyStatement]:
        """Allow what follows from where the function runs, and whose key it meets."""
        if options.customer_key:
            yield options.customer_key.needed_for(statements)
        if options.network:
            yield from options.network.statements(self)

    def _acknowledge(self, unscoped: str, options: DeploymentOptions) -> None:
        """Say why what cdk-nag finds does not hold here."""
        suppress_nag(self.function, "L1", OLDER_RUNTIME)
        policy = self.role.node.find_child("Resource")
        if unscoped:
            suppress_nag(policy, "IAM5[Resource::*]", unscoped)
        elif options.network:
            suppress_nag(policy, "IAM5[Resource::*]", DESCRIPTIONS_ARE_UNSCOPED)
        for interfaces in options.network.unnamed if options.network else ():
            suppress_nag(policy, f"IAM5[Resource::{interfaces}]", INTERFACES_HAVE_NO_NAME)
        if options.stage.tracing:
            added = self.role.node.find_child("DefaultPolicy")
            suppress_nag(added, "IAM5[Resource::*]", TRACES_ARE_UNSCOPED)


def add_metadata(construct: IConstruct, name: str, content: str) -> None:
    """Put a text into the template, with the resource of *construct*."""
    resource = construct.node.default_child
    assert isinstance(resource, CfnResource)
    resource.add_metadata(name, content)


def _variables(settings: Settings) -> dict[str, str]:
    """Return the settings; of the sources only those whose tables' names the bundle cannot have."""
    unknown = {
        source: table for source, table in settings.sources.items() if Token.is_unresolved(table)
    }
    variables = settings.to_env()
    del variables[SOURCES]
    return variables | ({SOURCES: dumps(unknown)} if unknown else {})


def _bundle(
    options: DeploymentOptions, settings: Settings, pending: Mapping[str, str | None]
) -> Path:
    views = options.views
    manifest = Manifest(
        model=views.fingerprint,
        views=tuple(module.__name__ for module in views.modules),
        migrations=tuple(sorted({migration.module for migration in options.migrations})),
        sources={
            source: table
            for source, table in settings.sources.items()
            if not Token.is_unresolved(table)
        },
        pending=dict(pending),
    )
    return options.bundler(
        views, manifest, handlers=options.handlers, tracing=options.stage.tracing
    )


def _check_size(name: str, environment: Mapping[str, str]) -> None:
    """Refuse more variables than Lambda takes; what is known only when deployed is estimated."""
    text = dumps(dict(environment), separators=(",", ":"))
    size = len(TOKEN.sub(ESTIMATE, text))
    if size > ENVIRONMENT_BYTES:
        msg = (
            f"the environment of function {name!r} takes about {size} bytes, and Lambda takes "
            f"{ENVIRONMENT_BYTES}. Tables without a name of their own are named there: give the "
            "source tables names, or give some of the views a deployment of their own"
        )
        raise SettingsError(msg)


class _Function(lambda_.Function):
    """A function without versions: who may invoke it need not be let invoke any."""

    @property
    def resource_arns_for_grant_invoke(self) -> list[str]:
        """Name the function itself, and nothing else."""
        return [self.function_arn]
