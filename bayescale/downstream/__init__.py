"""Accuracy on a downstream task, forecast in two stages: compute to likelihood, likelihood to accuracy."""

from bayescale.downstream._chain import Chain, fit_chain

__all__ = ["Chain", "fit_chain"]
