"""Neural scaling laws with honest uncertainty.

The public names are loaded when they are first asked for: ``import bayescale`` itself loads neither JAX, pandas nor any
plotting library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayescale import datasets, lab, plots, prior_sets, transfer
    from bayescale.comparison import Comparison, compare
    from bayescale.errors import BayescaleError
    from bayescale.evaluation import Backtest, backtest
    from bayescale.fits import Fit
    from bayescale.inference.sampler import Sampler
    from bayescale.laws import Law
    from bayescale.model import Model
    from bayescale.noise import Noise
    from bayescale.prior import Prior, pooled
    from bayescale.procedures import NUTS, fit
    from bayescale.runs import Runs, check
    from bayescale.targets import TargetFits, fit_targets

__version__ = "0.1.0"

_HOME = {
    "Backtest": "evaluation",
    "BayescaleError": "errors",
    "Comparison": "comparison",
    "Fit": "fits",
    "Law": "laws",
    "Model": "model",
    "NUTS": "procedures",
    "Noise": "noise",
    "Prior": "prior",
    "Runs": "runs",
    "Sampler": "inference.sampler",
    "TargetFits": "targets",
    "backtest": "evaluation",
    "check": "runs",
    "compare": "comparison",
    "fit": "procedures",
    "fit_targets": "targets",
    "pooled": "prior",
}
_MODULES = ("datasets", "lab", "laws", "plots", "prior_sets", "procedures", "transfer")

__all__ = [
    "NUTS",
    "Backtest",
    "BayescaleError",
    "Comparison",
    "Fit",
    "Law",
    "Model",
    "Noise",
    "Prior",
    "Runs",
    "Sampler",
    "TargetFits",
    "backtest",
    "check",
    "compare",
    "datasets",
    "fit",
    "fit_targets",
    "lab",
    "plots",
    "pooled",
    "prior_sets",
    "transfer",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"bayescale.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"bayescale.{name}")
    raise AttributeError(f"module 'bayescale' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
