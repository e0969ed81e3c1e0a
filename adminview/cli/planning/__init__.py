"""Plan, estimate and apply a change of the deployed model."""
