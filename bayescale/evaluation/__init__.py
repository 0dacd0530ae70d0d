"""Whether forecasts hold, by backtests on runs that are known; whether the software is right, by simulation."""

from bayescale.evaluation._average import AverageOfLaws
from bayescale.evaluation._backtest import backtest
from bayescale.evaluation._fitted import Fitted, HuberBootstrap
from bayescale.evaluation._folds import Design
from bayescale.evaluation._forecaster import Draws, Forecaster
from bayescale.evaluation._registry import Request, forecasters, needs
from bayescale.evaluation._result import Backtest
from bayescale.evaluation.sbc import Calibration, calibrate

__all__ = [
    "AverageOfLaws",
    "Backtest",
    "Calibration",
    "Design",
    "Draws",
    "Fitted",
    "Forecaster",
    "HuberBootstrap",
    "Request",
    "backtest",
    "calibrate",
    "forecasters",
    "needs",
]
