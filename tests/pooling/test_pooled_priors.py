"""Partial pooling as a value: parsing, draws, and the groups of a table."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from bayescale.errors import PriorError, RunsError
from bayescale.grouping import Groups, gathered, spread_out
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.prior import Pooled, Prior, parse_assignments, pooled


class TestPrior:
    @pytest.mark.parametrize(
        "text",
        [
            "pooled(LogNormal(log(0.35), 0.5), over=corpus, spread=LogNormal(log(0.2), 0.7))",
            "pooled(Normal(0.0, 0.1), over=target*source, spread=LogNormal(log(0.05), 0.7), shared=target)",
            "pooled(TruncatedNormal(0.7, 0.4, 0.0, inf), over=seed, spread=HalfNormal(0.2))",
        ],
    )
    def test_text_and_back(self, text: str) -> None:
        assert str(Pooled.parse(text)) == text
        assert Pooled.parse(str(Pooled.parse(text))) == Pooled.parse(text)

    def test_the_spread_follows_the_prior(self) -> None:
        assert Pooled.parse("pooled(LogNormal(log(0.35), 0.5), corpus)").spread == Prior.parse(
            "LogNormal(log(0.175), 0.7)"
        )
        assert pooled("Normal(0.2, 0.1)", "corpus").spread == Prior.parse("LogNormal(log(0.035), 0.7)")

    def test_as_typed_after_prior(self) -> None:
        made = parse_assignments(["alpha=pooled(LogNormal(-1, 0.5), corpus)", "E=1.7"])
        assert isinstance(made["alpha"], Pooled)
        assert made["E"] == Prior("Fixed", 1.7)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("pooled(LogNormal(-1, 0.5))", "expected a prior and a column"),
            ("pooled(LogNormal(-1, 0.5), over=a, over=b)", "over is given twice"),
            ("pooled(1.7, corpus)", "a pinned parameter is the same in every group"),
            ("pooled(LogNormal(-1, 0.5), corpus, Normal(0, 1))", "the spread is a standard deviation"),
            ("pooled(Normal(0, 1), corpus, shared=corpus)", "must be one of two columns"),
            ("pooled(TruncatedNormal(0, 1, -inf, 1), corpus)", "without a lower end"),
        ],
    )
    def test_what_cannot_be_is_refused(self, text: str, said: str) -> None:
        with pytest.raises(PriorError, match=said):
            Pooled.parse(text)

    @pytest.mark.parametrize(
        ("prior", "kind", "median"),
        [
            ("StudentT(1.5, 0.2, 0.1)", "identity", 0.2),
            ("LogStudentT(1.5, log(1.8), 0.1)", "log", np.log(1.8)),
            ("LogitStudentT(1.5, -0.2, 0.1)", "logit", -0.2),
            ("Uniform(0.1, 0.9)", "logit", 0.0),
        ],
    )
    def test_the_scale_of_a_prior(self, prior: str, kind: str, median: float) -> None:
        """Of heavy tails, which have no sd, half the width of the middle half counts."""
        link = pooled(prior, "corpus").link
        assert link.kind == kind
        middle = link.inner(np.array(Prior.parse(prior).median), np)
        # the median of 4,001 draws; of the uniform's logit it has an sd of .03
        assert middle == pytest.approx(median, abs=0.1)
        if "Student" in prior:
            # half the interquartile range of 1.5 degrees of freedom is .877 scales; a normal's .674 sds
            assert link.sd == pytest.approx(0.1 * 0.877 / 0.674, rel=0.1)

    @pytest.mark.parametrize(
        "prior",
        ["LogNormal(-1, 0.5)", "Normal(0.1, 0.2)", "TruncatedNormal(0.3, 0.4)", "Beta(2, 5)", "LogStudentT(2, -1, 1)"],
    )
    def test_draws_scatter_around_the_level_by_the_spread(self, prior: str) -> None:
        pool = pooled(prior, "corpus", spread="Fixed(0.2)")
        drawn = pool.sample(np.random.default_rng(0), 4000, np.zeros(3, dtype=int))
        assert drawn[""].shape == (4000, 3)
        inner, level = (pool.link.inner(values, np) for values in (drawn[""], drawn["level"][:, None]))
        if pool.link.floor is None:
            # the sd of 12,000 normal draws is known to 0.65 %
            assert np.std(inner - level) == pytest.approx(0.2, rel=0.03)
        else:
            assert (drawn[""] > 0).all()
            far = drawn["level"] > 0.8  # four spreads from the floor, the truncation is not felt
            assert np.std((drawn[""] - drawn["level"][:, None])[far]) == pytest.approx(0.2, rel=0.1)

    def test_new_groups_share_what_their_member_shares(self) -> None:
        pool = pooled("Normal(0, 1)", ("target", "source"), spread="Fixed(0.1)", shared="target")
        size = 2000
        drawn = {"level": np.zeros(size), "spread": np.full(size, 0.1), "spread_target": np.full(size, 1.0)}
        known = drawn | {"": np.full((size, 3), 2.0)}
        both = (np.zeros(3, dtype=int), 0.0), (np.array([0, 1]), 0.0)
        more = pool.more(np.random.default_rng(0), known, *both)
        # three pairs of the target at 2.0 leave a deviation of its own of 2 * 3 / (3 + 0.01), known to 0.0577
        assert more[:, 0].mean() == pytest.approx(2.0 * 3 / 3.01, abs=0.02)
        assert more[:, 0].std() == pytest.approx(np.hypot(0.1, 0.1 / np.sqrt(3.01)), rel=0.08)
        # another target is as unknown as any
        assert more[:, 1].mean() == pytest.approx(0.0, abs=0.12)
        assert more[:, 1].std() == pytest.approx(np.hypot(0.1, 1.0), rel=0.08)


class TestGroups:
    COLUMNS = MappingProxyType(
        {"target": np.array(["fr", "en", "fr"]), "source": np.array([["en", "de"], ["de", "fr"], ["en", "de"]])}
    )

    def test_of_one_column(self) -> None:
        groups = Groups.of(("target",), self.COLUMNS)
        assert groups.labels == (("en",), ("fr",))
        assert groups.places(self.COLUMNS).tolist() == [1, 0, 1]
        assert groups.places({"target": ["de", "fr"]}).tolist() == [2, 1]
        assert groups.names("alpha") == ("alpha[en]", "alpha[fr]")

    def test_of_pairs(self) -> None:
        groups = Groups.of(("target", "source"), self.COLUMNS)
        assert groups.names("tau") == ("tau[en,de]", "tau[en,fr]", "tau[fr,de]", "tau[fr,en]")
        assert groups.places(self.COLUMNS).tolist() == [[3, 2], [0, 1], [3, 2]]
        members, labels = groups.members("target")
        assert members.tolist() == [0, 0, 1, 1]
        assert labels == ("en", "fr")
        grid, dims = groups.grid(np.arange(4.0)[None])
        assert grid.shape == (1, 2, 3)
        assert dims == {"target": ("en", "fr"), "source": ("de", "fr", "en")}
        assert np.isnan(grid).sum() == 2
        np.testing.assert_array_equal(groups.from_grid(grid), np.arange(4.0)[None])
        assert groups.extended({"target": ["sw"], "source": [["en", "fr"]]}).labels[4:] == (("sw", "en"), ("sw", "fr"))

    def test_numbers_that_are_whole_are_labels_too(self) -> None:
        assert Groups.of(("seed",), {"seed": np.array([0.0, 1.0, 0.5])}).labels == (("0",), ("0.5",), ("1",))

    def test_one_by_one_and_back(self) -> None:
        groups = {"alpha": Groups.of(("target",), self.COLUMNS)}
        values = {"E": np.zeros((2, 5)), "alpha": np.arange(20.0).reshape(2, 5, 2)}
        apart = spread_out(values, groups)
        assert set(apart) == {"E", "alpha[en]", "alpha[fr]"}
        np.testing.assert_array_equal(gathered(apart, groups)["alpha"], values["alpha"])

    def test_a_blank_or_missing_label_is_refused(self) -> None:
        with pytest.raises(RunsError, match="run 2: corpus is blank"):
            Groups.of(("corpus",), {"corpus": np.array(["c4", ""], dtype=object)})
        with pytest.raises(RunsError, match="there is no column of that name"):
            Groups.of(("corpus",), {})


class TestModel:
    def test_pool_replaces_priors(self) -> None:
        model = Model(Chinchilla()).pool("corpus", "alpha", "beta")
        assert set(model.pools) == {"alpha", "beta"}
        assert model.pools["alpha"].prior == Chinchilla.priors["alpha"]
        assert list(model.scalars)[-4:] == ["alpha_level", "alpha_spread", "beta_level", "beta_spread"]
        assert model.single().priors == Model(Chinchilla()).priors

    def test_what_it_has_not_is_refused(self) -> None:
        with pytest.raises(PriorError, match="has no parameter 'gamma'"):
            Model(Chinchilla()).pool("corpus", "gamma")
        with pytest.raises(PriorError, match="nu belongs to the noise"):
            Model(Chinchilla()).pool("corpus", "nu")
