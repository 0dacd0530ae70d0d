"""Prior sets: priors and a discrepancy learnt from families of runs, named, documented and replaceable.

One set a TOML file here; `bayescale prior-set` prints them and learns new ones from any collection of tables.
"""

from bayescale.prior_sets._combine import Effect, combine
from bayescale.prior_sets._prior_set import Family, PriorSet, load, names

__all__ = ["Effect", "Family", "PriorSet", "combine", "load", "names"]
