"""Transfer between languages: bilingual transfer scores from loss curves, and the matrix of all pairs completed.

A score says what training on a second language does for a first one: 0 where its tokens neither help nor hurt, 1 where
they come for free, below 0 where they interfere (arXiv 2510.22037, Sec. 4).
"""

from __future__ import annotations

from bayescale.transfer._holdout import HoldOut, hold_out
from bayescale.transfer._matrix import TransferMatrix, complete
from bayescale.transfer._pairs import Pairs, read_pairs
from bayescale.transfer._scores import ScoreSettings, TransferScores, transfer_scores

__all__ = [
    "HoldOut",
    "Pairs",
    "ScoreSettings",
    "TransferMatrix",
    "TransferScores",
    "complete",
    "hold_out",
    "read_pairs",
    "transfer_scores",
]
