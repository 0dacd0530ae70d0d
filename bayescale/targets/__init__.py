"""Several targets in one table: the losses of the same runs on many validation sets, or errors on many tasks.

`fit_targets` fits one law to each. Apart, or in one fit in which some parameters are the same for all targets, or
partially pooled over them.
"""

from bayescale.targets._fit_targets import Reading, fit_targets
from bayescale.targets._target_fits import TargetFits

__all__ = ["Reading", "TargetFits", "fit_targets"]
