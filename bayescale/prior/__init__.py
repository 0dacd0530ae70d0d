"""Priors: values that can be printed, compared, parsed and stored; and partial pooling of one over groups of runs."""

from bayescale.prior._parse import parse_assignments, parse_prior, read_toml
from bayescale.prior._pooled import Pooled, apart, pooled
from bayescale.prior._prior import Prior

__all__ = ["Pooled", "Prior", "apart", "parse_assignments", "parse_prior", "pooled", "read_toml"]
