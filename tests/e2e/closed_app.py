"""The same stacks, deployed with the rights of whoever runs the command.

A cloud that obeys its policies would want to see the bootstrap roles' as well; those are AWS's, and
not what is looked at here. Copied into a checkout, beside app.py.
"""

import aws_cdk as cdk

from infra.app import build
from lambdas.migrations import migrations
from lambdas.views import registry

app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
build(app, registry(), migrations().values())
app.synth()
