"""What `make check` finds in the stacks: by CDK's own validation, cdk-nag and cfn-lint."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from adminview.model import Registry
from adminview.views import migrations, registry
from infra.app import build
from tests.support.all_options import EVERYTHING
from tests.support.synthesis import context_with, imported, read_options

# Let the report be written, instead of printed and raised.
KEEP_QUIET: Final = {"@aws-cdk/core:failSynthOnValidationErrors": False}
REPORT: Final = "validation-report.json"
CFN_LINT: Final = Path(sys.executable).with_name("cfn-lint")
# What cfn-lint finds and does not hold: the rule, and the type of the resource that it may be on.
TOLERATED: Final = {
    # CDK writes that a resource depends on its role, which the role's ARN in it says as well.
    ("W3005", "AWS::Lambda::Function"),
    ("W3005", "AWS::StepFunctions::StateMachine"),
}
JWT: Final = {
    "jwtIssuer": "https://login.example/pool",
    "jwtAudience": ["admin-panel"],
    "corsOrigins": ["https://panel.example"],
}

Template = Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A rule, what it is broken by, and what that means."""

    where: str
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}\n  {self.rule}\n  {self.what}"


def deployments(model: Registry) -> dict[str, dict[str, object]]:
    """Name what is checked, with its context: each stage as it is, and all that can be chosen."""
    chosen: dict[str, object] = {
        **EVERYTHING,
        "prefix": "team-a-",
        "sources": {model.sources[0].name: imported("legacy")},
        "api": JWT,
    }
    return {"dev": {}, "prod": {"stage": "prod"}, "everything": chosen}


def nag(
    directory: Path, fill: Callable[[cdk.App], object], context: Mapping[str, object]
) -> list[Finding]:
    """Synthesize into *directory*, and give what cdk-nag finds there and nobody acknowledged."""
    app = cdk.App(
        outdir=str(directory),
        context={**context_with(context), **KEEP_QUIET},
        analytics_reporting=False,
    )
    fill(app)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
    reports = json.loads((directory / REPORT).read_text())["pluginReports"]
    needed = {
        (violation["acknowledgedAt"], violation["acknowledgedId"])
        for report in reports
        for violation in report.get("suppressedViolations", [])
    }
    return [*_violations(reports), *_superfluous(app, needed)]


def _violations(reports: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    for report in reports:
        if report["conclusion"] != "success" and not report["violations"]:
            yield Finding(report["pluginName"], "failed", str(report.get("metadata")))
        for violation in report["violations"]:
            for construct in violation["violatingConstructs"]:
                yield Finding(
                    construct["constructPath"], violation["ruleName"], violation["description"]
                )


def _superfluous(app: cdk.App, needed: set[tuple[str, str]]) -> Iterator[Finding]:
    for construct in app.node.find_all():
        for entry in construct.node.metadata:
            if entry.type != cdk.Validations.ACKNOWLEDGED_RULES_METADATA_KEY:
                continue
            for rule in entry.data:
                if (construct.node.path, rule) not in needed:
                    what = "This is acknowledged, and not found: remove the acknowledgment."
                    yield Finding(construct.node.path, rule, what)


def lint(templates: Iterable[Path]) -> list[Finding]:
    """Give what cfn-lint finds in *templates*, all together, and what it need not tolerate."""
    paths = [*templates]
    command = [str(CFN_LINT), "--format", "json", "--", *map(str, paths)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if not done.stdout.strip():
        raise RuntimeError(done.stderr)
    read = {str(path): json.loads(path.read_text()) for path in paths}
    left, findings = set(TOLERATED), []
    for match in json.loads(done.stdout):
        id_, type_ = _resource(read[match["Filename"]], match["Location"].get("Path") or [])
        rule = match["Rule"]["Id"]
        if (rule, type_) in TOLERATED:
            left.discard((rule, type_))
        else:
            where = f"{Path(match['Filename']).name}/{id_}"
            findings.append(Finding(where, rule, match["Message"]))
    what = "This is tolerated, and not found: remove it from TOLERATED."
    return findings + [Finding(type_, rule, what) for rule, type_ in left]


def _resource(template: Template, path: list[Any]) -> tuple[str, str]:
    """Name the resource that a path into a template leads to, and its type."""
    match path:
        case ["Resources", str(id_), *_]:
            return id_, template["Resources"][id_].get("Type", "")
    return "/".join(map(str, path)), ""


def main() -> int:
    """Check every deployment, and say what was found."""
    model, findings = registry(), []
    checked = deployments(model)
    with TemporaryDirectory() as directory:
        for name, context in checked.items():
            findings += nag(
                Path(directory) / name,
                lambda app: build(app, read_options(app, model, migrations().values())),
                context,
            )
        findings += lint(sorted(Path(directory).glob("*/*.template.json")))
    for finding in sorted(findings):
        sys.stdout.write(f"{finding}\n\n")
    sys.stdout.write(f"cdk-nag and cfn-lint, {', '.join(checked)}: {len(findings)} findings\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
