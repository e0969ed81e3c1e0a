"""Views and stages -> stacks. Makes no AWS call: it needs no credentials and no region."""

import sys

import aws_cdk as cdk

from adminview import AdminViewError
from adminview.cdk import DeploymentOptions
from adminview.model.errors import reason_of
from adminview.views import migrations, registry
from infra.app import build
from infra.stages import STAGES

# Validation would take most of the time of each synthesis; CloudFormation validates at deployment.
app = cdk.App(builtin_cloud_formation_validation=False)
try:
    options = DeploymentOptions.read(
        app.node.get_all_context(),
        registry(),
        stages=STAGES,
        migrations=tuple(migrations().values()),
        handlers="lambdas",
    )
    build(app, options)
except AdminViewError as error:
    sys.exit(f"error: {reason_of(error)}")
app.synth()
