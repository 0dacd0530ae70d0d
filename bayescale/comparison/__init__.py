"""Procedures side by side on one table, and whether any two disagree; laws side by side, and which forecasts best."""

from bayescale.comparison._compare import compare
from bayescale.comparison._compare_laws import columns_of_laws, compare_laws
from bayescale.comparison._comparison import Comparison
from bayescale.comparison._laws import LawComparison
from bayescale.comparison._plan import columns_needed

__all__ = ["Comparison", "LawComparison", "columns_needed", "columns_of_laws", "compare", "compare_laws"]
