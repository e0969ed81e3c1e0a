"""A Lambda function with its bundle, its log group and a role of its own.

Permissions that grow with the model are split into policies of the sizes that IAM accepts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import Final, cast

from aws_cdk import Aws, CfnResource, Duration, Fn, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct, IConstruct

from adminview.aws.manifest import Manifest
from adminview.aws.settings import NAMESPACE, SOURCES, Settings, TotalsSettings
from adminview.cdk.constructs.suppress_nag import suppress_nag
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.errors import SettingsError

OLDER_RUNTIME: Final = (
    "Python 3.13 is the newest version on which a view file is known to have the same fingerprint "
    "as on older ones (tests/unit/test_fingerprint.py), and the bundle's wheels are for it "
    "(adminview/cdk/bundle.py). Lambda supports it until June 2029."
)
DESCRIPTIONS_ARE_UNSCOPED: Final = "EC2 supports no resources for Describe actions."
INTERFACES_HAVE_NO_NAME: Final = (
    "Lambda creates a function's network interfaces, and names them only then "
    "(adminview/cdk/options/network.py)."
)
TRACES_ARE_UNSCOPED: Final = "X-Ray supports no resources for sending traces."

DELIVERED: Final = "/aws/vendedlogs/"  # set by CloudWatch Logs
ENVIRONMENT_BYTES: Final = 4096  # of serialized JSON, set by Lambda
TOKEN: Final = re.compile(r"\$\{Token\[[^]]*\]\}")
ESTIMATE: Final = "x" * 25  # a stream's label; a table name that the CDK generates is longer


# Characters without spaces, with a reserve for what the CDK and the account's id add.
INLINE_LIMIT = 10_240 - 240  # all inline policies of a role together
MANAGED_LIMIT = 6_144 - 144
# Estimated lengths of what only the deployment knows: the region or the account, the ARN of a
# stream, and the UUID of an event source mapping.
ESTIMATES = (
    (re.compile(r"\$\{Token\[AWS\.[^]]*\]\}"), "x" * 16),
    (re.compile(r'"\$\{Token\[[^]]*\]\}"'), f'"{"x" * 130}"'),
    (re.compile(r"\$\{Token\[[^]]*\]\}"), "x" * 36),
)


class LogGroup(logs.LogGroup):
    """The log group of a function, state machine or API, as the deployment retains and encrypts it.

    Its writers need no permission on the customer key: the key's policy admits CloudWatch Logs.

    *delivered* names the log of a service that delivers it, as "states/Backfill". Such a service
    adds each group to one resource policy of the account, of at most 5,120 characters, except
    groups below /aws/vendedlogs/: elsewhere, a deployment fails in a busy account.
    """

    def __init__(
        self, scope: Construct, id_: str, *, options: DeploymentOptions, delivered: str = ""
    ) -> None:
        super().__init__(
            scope,
            id_,
            log_group_name=_delivered_name(delivered, options) if delivered else None,
            retention=options.stage.log_retention,
            removal_policy=options.stage.removal_policy,
            encryption_key=options.key_in(scope),
        )


def _delivered_name(log: str, options: DeploymentOptions) -> str:
    """Return a name that is free when a stack is created again, while its old log is retained."""
    service, _, name = log.partition("/")
    stack_id = Fn.select(2, Fn.split("/", Aws.STACK_ID))
    return f"{DELIVERED}{service}/{options.name}-{name}-{stack_id}"


class PythonFunction(Construct):
    """A Lambda function with the permissions *statements*; it may also write its own log."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        handler: str,
        description: str,
        memory_mb: int,
        timeout: Duration,
        settings: Settings | TotalsSettings,
        statements: Sequence[iam.PolicyStatement],
        options: DeploymentOptions,
        environment: Mapping[str, str] | None = None,  # besides the settings
        pending: Mapping[str, str | None] | None = None,  # access patterns that are not ready
        reserved_concurrency: int | None = None,
        unscoped: str = "",  # the reason, if a statement is on all resources
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
            [write_log, *statements, *self._implied(statements, options)]
        )
        # Part of the role, so that it never exists without them: Lambda checks permissions when a
        # stream is subscribed.
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
            code=lambda_.Code.from_asset(str(_bundle(options, pending or {}))),
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
            resource = cast("lambda_.CfnFunction", self.function.node.default_child)
            resource.vpc_config = network.vpc_config
        self._suppress_nag(unscoped, options)

    def _implied(
        self, statements: Sequence[iam.PolicyStatement], options: DeploymentOptions
    ) -> Iterator[iam.PolicyStatement]:
        """Yield the permissions that the customer key and the network require."""
        if options.customer_key:
            yield options.customer_key.statement_for(statements)
        if options.network:
            yield from options.network.statements(self)

    def _suppress_nag(self, unscoped: str, options: DeploymentOptions) -> None:
        suppress_nag(self.function, "L1", OLDER_RUNTIME)
        policy = self.role.node.find_child("Resource")
        if unscoped:
            suppress_nag(policy, "IAM5[Resource::*]", unscoped)
        elif options.network:
            suppress_nag(policy, "IAM5[Resource::*]", DESCRIPTIONS_ARE_UNSCOPED)
        for arn in options.network.wildcard_arns if options.network else ():
            suppress_nag(policy, f"IAM5[Resource::{arn}]", INTERFACES_HAVE_NO_NAME)
        if options.stage.tracing:
            added = self.role.node.find_child("DefaultPolicy")
            suppress_nag(added, "IAM5[Resource::*]", TRACES_ARE_UNSCOPED)


def add_metadata(construct: IConstruct, name: str, content: str) -> None:
    """Add metadata to the resource of *construct* in the template."""
    resource = construct.node.default_child
    assert isinstance(resource, CfnResource)
    resource.add_metadata(name, content)


def _variables(settings: Settings | TotalsSettings) -> dict[str, str]:
    """Return the settings, with only those sources whose table names the bundle cannot contain."""
    if isinstance(settings, TotalsSettings):
        return settings.to_env()
    unknown = {
        source: table for source, table in settings.sources.items() if Token.is_unresolved(table)
    }
    variables = settings.to_env()
    del variables[SOURCES]
    return variables | ({SOURCES: dumps(unknown)} if unknown else {})


def _bundle(options: DeploymentOptions, pending: Mapping[str, str | None]) -> Path:
    views = options.views
    tables = {source.name: options.table_of(source) for source in views.sources}
    manifest = Manifest(
        model=views.fingerprint,
        views=tuple(module.__name__ for module in views.modules),
        migrations=tuple(sorted({migration.module for migration in options.migrations})),
        sources={
            source: table for source, table in tables.items() if not Token.is_unresolved(table)
        },
        pending=dict(pending),
    )
    return options.bundler(
        views, manifest, handlers=options.handlers, tracing=options.stage.tracing
    )


def _check_size(name: str, environment: Mapping[str, str]) -> None:
    """Raise a SettingsError if the variables exceed Lambda's limit, with tokens estimated."""
    text = dumps(dict(environment), separators=(",", ":"))
    size = len(TOKEN.sub(ESTIMATE, text))
    if size > ENVIRONMENT_BYTES:
        msg = (
            f"the environment of function {name!r} has about {size} bytes, and Lambda allows "
            f"{ENVIRONMENT_BYTES}. It lists the tables whose names CloudFormation generates: name "
            "the source tables, or move some of the views to another deployment"
        )
        raise SettingsError(msg)


class _Function(lambda_.Function):
    """A function without versions: a grant to invoke it names no version."""

    @property
    def resource_arns_for_grant_invoke(self) -> list[str]:
        return [self.function_arn]


def split_statements(
    statements: Iterable[iam.PolicyStatement],
) -> tuple[list[iam.PolicyStatement], list[list[iam.PolicyStatement]]]:
    """Return the statements of the inline policy, and those of each managed policy."""
    inline: list[iam.PolicyStatement] = []
    managed: list[list[iam.PolicyStatement]] = []
    left = INLINE_LIMIT
    for statement in statements:
        for piece in _pieces(statement):
            size = _size(piece)
            if not managed and size <= left:
                inline.append(piece)
            elif managed and size <= left:
                managed[-1].append(piece)
            else:
                managed.append([piece])
                left = MANAGED_LIMIT
            left -= size
    return inline, managed


def managed_policies(
    scope: Construct, parts: Sequence[Sequence[iam.PolicyStatement]]
) -> list[iam.IManagedPolicy]:
    """Create a managed policy for each part."""
    return [
        iam.ManagedPolicy(scope, f"Policy{number}", statements=[*part])
        for number, part in enumerate(parts, 1)
    ]


def _pieces(statement: iam.PolicyStatement) -> Iterator[iam.PolicyStatement]:
    """Split a statement by its resources if it exceeds half of a managed policy."""
    room = MANAGED_LIMIT // 2
    if _size(statement) <= room:
        yield statement
        return
    actions, resources = statement.actions, [*statement.resources]
    while resources:
        count = 1
        while count < len(resources) and _size(_allow(actions, resources[: count + 1])) <= room:
            count += 1
        yield _allow(actions, resources[:count])
        resources = resources[count:]


def _allow(actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[*actions], resources=[*resources])


def _size(statement: iam.PolicyStatement) -> int:
    content = {"Effect": "Allow", "Action": statement.actions, "Resource": statement.resources}
    text = dumps(content, separators=(",", ":"))
    for token, estimate in ESTIMATES:
        text = token.sub(estimate, text)
    return len(text)
