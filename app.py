"""Stages -> stacks. Calls nobody: it works without credentials and without a region."""

import sys

import aws_cdk as cdk

from adminview.model.errors import AdminViewError
from adminview.views import migrations, registry
from infra.app import build

# `make check` validates the templates: here it would take most of the time of each synthesis.
app = cdk.App(builtin_cloud_formation_validation=False)
try:
    build(app, registry(), migrations().values())
except AdminViewError as error:
    sys.exit(f"error: {error}")
app.synth()
