"""The bundled table: it is what the lab makes, and it looks as such runs do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import numpy as np
import pytest

from bayescale import datasets
from bayescale.errors import RunsError
from bayescale.lab import FULL, Source, train


def test_toy_is_bundled_small_and_complete() -> None:
    assert "toy" in datasets.names()
    assert datasets.path("toy").stat().st_size < 200_000
    table = datasets.frame("toy")
    assert list(table.columns) == [
        "sweep", "budget", "width", "N", "D", "C", "seed", "loss", "entropy", "attainable_floor",
    ]  # fmt: skip
    assert table.groupby("sweep").size().to_dict() == {"D": 5 * 4, "N": 9 * 4, "isoflop": 27 * 4}
    assert table.drop(columns="budget").notna().all().all()
    assert not table.duplicated(["sweep", "budget", "width", "D", "seed"]).any()
    assert not table.duplicated(["N", "D", "loss"]).any()
    assert table["C"].eq(6 * table["N"] * table["D"]).all()


def test_no_run_is_below_the_floor_and_none_above_a_uniform_guess() -> None:
    table = datasets.frame("toy")
    assert (table["loss"] > table["attainable_floor"]).all()
    assert (table["loss"] < np.log(16)).all()
    assert table["entropy"].unique() == pytest.approx([2.0], abs=1e-6)


def test_isoflop_curves_have_an_interior_minimum() -> None:
    isoflop = datasets.frame("toy").query("sweep == 'isoflop'")
    for _, curve in isoflop.groupby("budget"):
        means = curve.groupby("N")["loss"].mean()
        assert means.index[0] < means.idxmin() < means.index[-1]


def test_noise_falls_with_tokens() -> None:
    isoflop = datasets.frame("toy").query("sweep == 'isoflop'")
    cells = isoflop.groupby(["N", "D"])["loss"].std().reset_index()
    slope = np.polyfit(np.log(cells["D"]), np.log(cells["loss"]), 1)[0]
    # 27 standard deviations from 4 seeds each (log sd known to about 0.45) over six e-folds of D: the slope is known
    # to about 0.05; the runs of the text that the source comes from have -0.66, and constant noise would give 0.
    assert -1.1 < slope < -0.4


def test_provenance_names_the_command_the_file_and_the_floor() -> None:
    text = datasets.provenance("toy")
    assert "bayescale lab --out" in text
    table = datasets.frame("toy")
    assert hashlib.sha256(datasets.path("toy").read_bytes()).hexdigest() in text
    assert f"{table['attainable_floor'][0]:.6f}" in text
    assert re.search(r"\bjax \d+\.\d+", text)


def test_load_gives_runs() -> None:
    runs = datasets.load("toy", where="sweep == 'isoflop'")
    assert len(runs) == 108
    np.testing.assert_array_equal(runs["loss"], datasets.frame("toy").query("sweep == 'isoflop'")["loss"])


@pytest.mark.parametrize("reader", [datasets.path, datasets.frame, datasets.load, datasets.provenance])
def test_unknown_names_are_refused_with_those_there_are(reader: Callable[[str], object]) -> None:
    with pytest.raises(RunsError, match="no bundled data set is called 'epoch'; there are: toy"):
        reader("epoch")


@pytest.mark.slow
def test_remaking_some_runs_gives_the_bundled_losses() -> None:
    source = Source.draw(seed=0)
    table = datasets.frame("toy")
    assert source.attainable_floor == pytest.approx(table["attainable_floor"][0], abs=1e-6)
    cells = [cell for cell in FULL.cells(source.pool.size) if cell.sweep == "isoflop" and cell.D < 64_000]
    assert len(cells) == 6
    for cell in cells:
        bundled = table.query("sweep == 'isoflop' and width == @cell.width and D == @cell.D")
        # The same machine and versions give the same six decimals. Another CPU sums float32 in another order: with
        # the SSE4.2 and AVX code paths forced on XLA these losses moved by at most 6.3e-5 nats; the tolerance is five
        # times that, and a fortieth of the 0.01 to 0.04 nats between seeds.
        np.testing.assert_allclose(train(source, cell, range(4)), bundled["loss"], rtol=0.0, atol=3e-4)
