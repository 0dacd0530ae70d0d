"""The laws of whole mixtures: published forms, limits, shares that are none, and the best mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayescale._float64 import jax, jnp
from bayescale.errors import FitError, RunsError
from bayescale.laws import get
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.data_mixing import DataMixing
from bayescale.laws.optimal_mixture import OptimalMixture
from bayescale.laws.optimal_mixture_joint import OptimalMixtureJoint
from bayescale.laws.shares import lowest_shares, optimal_shares
from bayescale.procedures import fit
from bayescale.runs import Runs

SIZES = {"E": 1.2, "m": 0.6, "a": 0.3, "b": 0.25, "alpha": 0.33, "beta": 0.37}
W, GAMMA = np.array([3.0, 0.8, 0.3]), np.array([0.5, 0.3, 0.7])
MIXTURES = np.array([[0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.9, 0.1, 0.0]])
N, D = np.array([1e8, 1e9, 3e9]), np.array([2e9, 2e10, 1e11])
WIDE = {"N": [1e8, 1e9], "D": [2e9, 2e10], "share[b]": [0.2, 0.5], "share[a]": [0.8, 0.5], "loss": [3.0, 2.5]}


def each_run(values: np.ndarray) -> np.ndarray:
    return np.tile(values, (len(MIXTURES), 1))


class TestPublishedForms:
    """The equations as printed, written out; ours are in parameters that can be judged."""

    def test_data_mixing(self) -> None:
        """Ye et al.: c + k exp(sum_j t_j r_j); a constant moved from t to k changes nothing."""
        c, k, t = 1.5, 2.0, np.array([-1.5, 0.3, 0.8])
        printed = c + k * np.exp(MIXTURES @ t)
        ours = k * np.exp(t)
        np.testing.assert_allclose(DataMixing().loss(MIXTURES, c=c, k=each_run(ours)), printed, rtol=1e-14)
        back = DataMixing.published(ours)
        np.testing.assert_allclose(c + float(back["k"]) * np.exp(MIXTURES @ np.asarray(back["t"])), printed, rtol=1e-14)
        assert float(back["t"].sum()) == pytest.approx(0.0, abs=1e-14)

    def test_optimal_mixture(self) -> None:
        """Shukor et al.: E + 1 / sum_i C_i h_i^gamma_i + A / N^alpha + B / D^beta."""
        law = OptimalMixture(domains=["a", "b", "c"])
        found = law.derived(**SIZES, w=W, gamma=GAMMA)
        printed = 1.2 + 1 / (found["C"] * MIXTURES**GAMMA).sum(axis=1) + found["A"] / N**0.33 + found["B"] / D**0.37
        ours = law.loss(N, D, MIXTURES, **SIZES, w=each_run(W), gamma=each_run(GAMMA))
        np.testing.assert_allclose(ours, printed, rtol=1e-13)
        # what the domains are worth counts by its ratios alone
        np.testing.assert_allclose(law.derived(**SIZES, w=5 * W, gamma=GAMMA)["C"], found["C"], rtol=1e-14)

    def test_the_joint_law(self) -> None:
        """A(h) = (sum_i C^A_i h_i)^gamma_A in the place of A, and B(h) likewise."""
        law = OptimalMixtureJoint(domains=["a", "b", "c"])
        each = {"w": W, "gamma": GAMMA, "u": np.array([0.5, 2.0, 1.0]), "v": np.array([0.3, 1.0, 0.6])}
        powers = {"gamma_A": 0.6, "gamma_B": 1.7}
        found = law.derived(**SIZES, **each, **powers)
        A, B = (MIXTURES @ found["C_A"]) ** 0.6, (MIXTURES @ found["C_B"]) ** 1.7
        printed = 1.2 + 1 / (found["C"] * MIXTURES**GAMMA).sum(axis=1) + A / N**0.33 + B / D**0.37
        ours = law.loss(N, D, MIXTURES, **SIZES, **powers, **{name: each_run(values) for name, values in each.items()})
        np.testing.assert_allclose(ours, printed, rtol=1e-12)

    def test_the_joint_law_with_domains_alike_is_the_additive_one(self) -> None:
        each = {"w": each_run(W), "gamma": each_run(GAMMA)}
        alike = dict.fromkeys(("u", "v"), np.full((3, 3), 0.7))
        joint = OptimalMixtureJoint().loss(N, D, MIXTURES, **SIZES, **alike, **each, gamma_A=0.7, gamma_B=1.4)
        np.testing.assert_allclose(joint, OptimalMixture().loss(N, D, MIXTURES, **SIZES, **each), rtol=1e-13)

    def test_at_one_mixture_the_additive_law_is_chinchilla(self) -> None:
        theta = {"w": each_run(W), "gamma": each_run(GAMMA)}
        ours = OptimalMixture().loss(N, D, np.full((3, 3), 1 / 3), **SIZES, **theta)
        rest = {name: SIZES[name] for name in ("a", "b", "alpha", "beta")}
        np.testing.assert_allclose(ours, Chinchilla().loss(N, D, E=1.2 + 0.6, **rest), rtol=1e-14)

    @pytest.mark.parametrize("name", ["optimal-mixture", "optimal-mixture-joint", "data-mixing"])
    def test_a_domain_of_which_there_is_nothing_has_finite_slopes(self, name: str) -> None:
        law = get(name)()
        some = np.random.default_rng(0)
        theta = {n: float(law.priors[n].median) for n in law.parameters}
        theta |= {n: some.uniform(0.3, 0.6, 3) for n in law.spreads}
        runs = {"N": 1e9, "D": 2e10, law.mixture: np.array([0.5, 0.5, 0.0])}
        slopes = jax.grad(lambda draw: law.loss(**{n: runs[n] for n in law.inputs}, **draw))(theta)
        assert all(np.isfinite(values).all() for values in slopes.values())


class TestShares:
    def test_domains_are_settled_on_the_table_and_kept(self) -> None:
        law = OptimalMixture().on(WIDE)
        assert law.domains == ("a", "b")
        assert law.on({}) is law
        assert OptimalMixture(**law.settings) == law
        np.testing.assert_allclose(law.read(WIDE)["h"], [[0.8, 0.2], [0.5, 0.5]])
        assert law.labels(WIDE)["domain"].tolist() == [["a", "b"]] * 2

    def test_shares_rounded_to_two_digits_are_a_mixture(self) -> None:
        read = OptimalMixture().on(WIDE).read(WIDE | {"share[a]": [0.797, 0.5]})
        assert read["h"].sum(axis=1) == pytest.approx(1.0, abs=1e-15)

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"share[a]": [0.8, 0.4]}, r"run 2: the shares of a, b add up to 0\.9, not to 1: is a domain missing"),
            ({"share[a]": [80, 50], "share[b]": [20, 50]}, r"run 1: .* add up to 100, not to 1: divide percentages by"),
            ({"share[a]": [1.2, 0.5], "share[b]": [-0.2, 0.5]}, r"run 1: share\[b\] is -0\.2; expected a share"),
            ({"share[a]": [0.8, np.nan]}, r"run 2: share\[a\] is blank; expected a share"),
            ({"share[a]": ["most", "half"]}, r"column 'share\[a\]' holds something that is no share"),
            (
                {"share[a]": [0.5, 0.5], "share[b]": [0.5, 0.5]},
                "all 2 have the same shares of a, b: add runs of others",
            ),
        ],
    )
    def test_shares_that_are_none(self, changed: dict[str, Any], said: str) -> None:
        runs = Runs.from_arrays(**{name: np.array(values) for name, values in (WIDE | changed).items()})
        for law in ("optimal-mixture", "data-mixing"):
            with pytest.raises(RunsError, match=said):
                fit(runs, law)

    def test_a_table_without_shares_is_told_how_to_name_them(self) -> None:
        with pytest.raises(RunsError, match=r'--column "share\[\*\]=weight_\*" takes weight_arxiv for share\[arxiv\]'):
            fit({"N": [1e8, 1e9], "D": [2e9, 2e10], "weight_a": [0.1, 0.9], "loss": [3.0, 2.5]}, "optimal-mixture")

    def test_a_target_has_a_share_of_each_domain_and_of_no_other(self) -> None:
        law = OptimalMixture().on(WIDE)
        with pytest.raises(RunsError, match=r"share\[b\] is missing: a run has a share of every domain"):
            law.read({"share[a]": [1.0]})
        with pytest.raises(RunsError, match=r"share\[x\] is of no domain of the fit, which are a, b"):
            law.read({"share[a]": [0.5], "share[b]": [0.3], "share[x]": [0.2]})

    def test_only_the_posterior_gives_them(self) -> None:
        runs = Runs.from_arrays(**{name: np.array(values) for name, values in WIDE.items()})
        with pytest.raises(FitError, match="least-squares cannot fit data-mixing"):
            fit(runs, "data-mixing", "least-squares")


class TestLowest:
    def test_of_powers_it_is_the_closed_form(self) -> None:
        generator = np.random.default_rng(0)
        loss, gamma = generator.uniform(1.0, 3.0, (20, 4)), generator.uniform(0.05, 0.5, (20, 4))
        found = lowest_shares(lambda h, c, g: (c * h**-g).sum(), {"c": jnp.array(loss), "g": jnp.array(gamma)}, 4)
        # the loss is flat to rounding within 1e-8 of its scale, so shares to its root
        np.testing.assert_allclose(found, optimal_shares(loss, gamma), atol=1e-7)

    def test_of_the_additive_law_it_has_equal_marginal_returns(self) -> None:
        """Largest sum of C_i h_i^gamma_i: C_i gamma_i h_i^(gamma_i - 1) alike, where all exponents are below 1."""
        law, theta = OptimalMixture(), {"w": jnp.array(W)[None], "gamma": jnp.array(GAMMA)[None]}
        found = lowest_shares(lambda h, w, gamma: law.loss(1e9, 2e10, h, **SIZES, w=w, gamma=gamma), theta, 3)[0]
        returns = W * 3**GAMMA * GAMMA * found ** (GAMMA - 1)
        np.testing.assert_allclose(returns, returns[0], rtol=1e-6)

    def test_of_one_exponential_it_is_one_domain_and_of_a_sum_it_lies_inside(self) -> None:
        own = jnp.array([[[0.2, 2.0, 2.0], [2.0, 0.5, 2.0]]])

        def loss(h: Any, k: Any) -> Any:
            return sum(DataMixing().loss(h, c=1.0, k=k[target]) for target in range(k.shape[0]))

        alone = lowest_shares(loss, {"k": own[:, :1]}, 3)[0]
        assert alone.tolist() == pytest.approx([1.0, 0.0, 0.0], abs=1e-8)
        both = lowest_shares(loss, {"k": own}, 3)[0]
        # with no use for the third, k1^h k2^(1-h) + k1'^h k2'^(1-h) has its minimum where the two slopes agree
        h = both[0]
        slopes = [np.log(0.2 / 2) * 0.2**h * 2 ** (1 - h), np.log(2 / 0.5) * 2**h * 0.5 ** (1 - h)]
        assert sum(slopes) == pytest.approx(0.0, abs=1e-6)
        assert both[2] < 1e-8
