"""Fitting procedures side by side on one table: what each says, how sure it is, and whether any two disagree."""

from bayescale.comparison._compare import compare
from bayescale.comparison._comparison import Comparison
from bayescale.comparison._plan import columns_needed

__all__ = ["Comparison", "columns_needed", "compare"]
