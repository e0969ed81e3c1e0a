"""The checks of `adminview check` that need no items, at synthesis."""

from aws_cdk import Annotations
from constructs import Construct

from adminview.cdk.bundle import view_requirements
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.checks.finding import Level
from adminview.checks.static import static_findings
from adminview.model.errors import DeclarationError


def report_findings(scope: Construct, options: DeploymentOptions) -> None:
    """Raise a DeclarationError that lists the errors; add each warning to *scope*."""
    findings = static_findings(options.views, view_requirements(options.handlers))
    errors = [f"  {finding}" for finding in findings if finding.level is Level.ERROR]
    if errors:
        msg = "\n".join(["the view files have errors:", *errors])
        raise DeclarationError(msg)
    for finding in findings:
        id_ = f"adminview:{finding.rule}:{finding.name}"
        Annotations.of(scope).add_warning_v2(id_, f"{finding.place}: {finding.message}")
