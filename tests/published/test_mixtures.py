"""The real table of seven domains: mixtures that were not fitted are forecast as well as by the published fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.mixtures import evaluate, read

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("law", "target", "measured"),
    [("data-mixing", "arxiv", 0.27), ("data-mixing", "github", 0.52), ("optimal-mixture", "arxiv", 0.44)],
)
def test_held_out_mixtures(shared_data: Path, law: str, target: str, measured: float) -> None:
    """Shukor et al. report mean relative errors of .4 to 2 % for laws of this family; 15 of 61 mixtures are held out.

    A third above the figure measured once is what another draw of chains and versions may cost, and no wrong term.
    """
    found = evaluate(read(shared_data), law, target, "mixtures", draws=500)
    assert found["relative_error"] < 1.33 * measured
    # 15 runs, or 118 checkpoints of 59 runs: the binomial sd of .9 is .08 and, counting runs, .04
    assert found["coverage"] >= (0.65 if law == "data-mixing" else 0.78)
