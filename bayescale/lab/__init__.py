"""The lab: small, real training runs with a known floor.

A synthetic language whose conditional entropy is computed exactly (:class:`Source`), and tiny language models trained
on it at many sizes and token counts (:func:`make_table`). The runs are real ones, with the noise of initialisation,
data and optimiser; only the floor is known, which it never is for text.
"""

from bayescale.lab._mlp import initial_parameters, n_params
from bayescale.lab._multilingual import LANGUAGES, MultilingualDesign, SimulatedRuns, simulate_runs
from bayescale.lab._source import Source
from bayescale.lab._sweeps import FULL, QUICK, Cell, Sweeps
from bayescale.lab._table import LabResult, make_table, write_table
from bayescale.lab._training import train, training_keys

__all__ = [
    "FULL",
    "LANGUAGES",
    "QUICK",
    "Cell",
    "LabResult",
    "MultilingualDesign",
    "SimulatedRuns",
    "Source",
    "Sweeps",
    "initial_parameters",
    "make_table",
    "n_params",
    "simulate_runs",
    "train",
    "training_keys",
    "write_table",
]
