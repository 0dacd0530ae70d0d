"""One-dimensional learning and scaling curves: forecasts by an average of laws, with bands."""

from bayescale.curves._calibration import Calibration
from bayescale.curves._discrepancy import Discrepancy
from bayescale.curves._forecast import CurveForecasts, forecast_curves
from bayescale.curves._prior_set import CurvePriors
from bayescale.curves._table import LEVELS
from bayescale.curves._tasks import Task, read_tasks

__all__ = [
    "LEVELS",
    "Calibration",
    "CurveForecasts",
    "CurvePriors",
    "Discrepancy",
    "Task",
    "forecast_curves",
    "read_tasks",
]
