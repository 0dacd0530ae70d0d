"""A fit with one more reason not to trust it."""

from __future__ import annotations

import json
from dataclasses import replace

from bayescale.fits._fit import ATTRIBUTE, Fit

__all__ = ["warned"]


def warned(fit: Fit, said: str) -> Fit:
    """The same fit with a warning beside those of its procedure; itself where there is nothing to say."""
    if not said:
        return fit
    diagnostics = replace(fit.diagnostics, warnings=(*fit.diagnostics.warnings, said))
    tree = fit.tree.copy()
    tree.attrs[ATTRIBUTE] = json.dumps(replace(fit.record, diagnostics=diagnostics).document())
    return Fit(tree)
