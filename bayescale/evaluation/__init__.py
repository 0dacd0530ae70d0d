"""Whether the software is right: simulation-based calibration."""

from bayescale.evaluation.sbc import Calibration, calibrate

__all__ = ["Calibration", "calibrate"]
