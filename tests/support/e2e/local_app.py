"""The app as it is deployed to the local cloud, in place of app.py.

ministack takes no alarm on an expression, so those look at one metric here, which nobody counts.
All else is what app.py makes; with the word `closed`, deployed with the rights of whoever runs the
command: a cloud that obeys its policies would want to see those of the bootstrap roles as well,
which are AWS's, and not what is looked at.
"""

import sys

import aws_cdk as cdk
from aws_cdk.aws_cloudwatch import CfnAlarm

from adminview.cdk import DeploymentOptions
from adminview.views import migrations, registry
from infra.app import build
from infra.stages import STAGES

INSTEAD = {"Namespace": "AdminView", "MetricName": "None", "Period": 300, "Statistic": "Sum"}

own_rights = cdk.CliCredentialsStackSynthesizer() if "closed" in sys.argv else None
app = cdk.App(default_stack_synthesizer=own_rights, builtin_cloud_formation_validation=False)
options = DeploymentOptions.read(
    app.node.get_all_context(),
    registry(),
    stages=STAGES,
    migrations=tuple(migrations().values()),
    handlers="lambdas",
)
build(app, options)
for construct in app.node.find_all():
    if isinstance(construct, CfnAlarm) and construct.metric_name is None:
        construct.add_property_deletion_override("Metrics")
        for name, value in INSTEAD.items():
            construct.add_property_override(name, value)
app.synth()
