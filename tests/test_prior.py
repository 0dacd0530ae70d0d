"""Priors are values: read, printed, compared; and each family means what its argument names say."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from bayescale._float64 import jax, jnp
from bayescale.errors import BayescaleError, PriorError
from bayescale.prior import Prior, parse_assignments, read_toml


class _Transformed(stats.rv_continuous):
    """A Student-t seen through a transform."""

    def __init__(self, real: Any, back: Any, slope: Any, *arguments: float, **ends: float) -> None:
        super().__init__(**ends)
        self.real, self.back, self.slope, self.t = real, back, slope, stats.t(*arguments)

    def _pdf(self, x: Any) -> Any:
        return self.t.pdf(self.real(x)) * self.slope(x)

    def _cdf(self, x: Any) -> Any:
        return self.t.cdf(self.real(x))

    def _ppf(self, q: Any) -> Any:
        return self.back(self.t.ppf(q))


# Each family beside what SciPy calls the distribution that the argument names describe.
SAME = {
    Prior("Normal", 1.7, 0.3): stats.norm(1.7, 0.3),
    Prior("LogNormal", math.log(0.35), 0.5): stats.lognorm(0.5, scale=0.35),
    Prior("StudentT", 3.0, 1.7, 0.3): stats.t(3.0, 1.7, 0.3),
    Prior("LogStudentT", 3.0, math.log(0.35), 0.5): _Transformed(
        np.log, np.exp, lambda x: 1 / x, 3.0, math.log(0.35), 0.5, a=0.0
    ),
    Prior("LogitStudentT", 3.0, 0.2, 0.5): _Transformed(
        special.logit, special.expit, lambda x: 1 / (x * (1 - x)), 3.0, 0.2, 0.5, a=0.0, b=1.0
    ),
    Prior("HalfNormal", 0.1): stats.halfnorm(scale=0.1),
    Prior("HalfCauchy", 0.2): stats.halfcauchy(scale=0.2),
    Prior("Gamma", 2.0, 0.1): stats.gamma(2.0, scale=10.0),
    Prior("InverseGamma", 5.0, 2.0): stats.invgamma(5.0, scale=2.0),
    Prior("Exponential", 4.0): stats.expon(scale=0.25),
    Prior("Beta", 6.0, 2.0): stats.beta(6.0, 2.0),
    Prior("Uniform", -1.0, 3.0): stats.uniform(-1.0, 4.0),
    Prior("TruncatedNormal", 0.5, 1.0): stats.truncnorm(-0.5, np.inf, 0.5, 1.0),
    Prior("TruncatedNormal", 0.5, 1.0, -1.0, 2.0): stats.truncnorm(-1.5, 1.5, 0.5, 1.0),
    Prior("TruncatedNormal", 0.5, 1.0, -math.inf, 2.0): stats.truncnorm(-np.inf, 1.5, 0.5, 1.0),
    Prior("TruncatedNormal", 0.5, 1.0, -math.inf, math.inf): stats.norm(0.5, 1.0),
}
families = pytest.mark.parametrize(("prior", "same"), SAME.items(), ids=map(str, SAME))

reals = st.floats(-1e12, 1e12)
positives = st.floats(1e-12, 1e12)
ends = st.tuples(reals, reals).filter(lambda pair: pair[0] != pair[1]).map(sorted)
PRIORS = st.one_of(
    st.builds(Prior, st.sampled_from(["Normal", "LogNormal"]), reals, positives),
    st.builds(Prior, st.sampled_from(["StudentT", "LogStudentT", "LogitStudentT"]), positives, reals, positives),
    st.builds(Prior, st.sampled_from(["HalfNormal", "HalfCauchy", "Exponential"]), positives),
    st.builds(Prior, st.sampled_from(["Gamma", "InverseGamma", "Beta"]), positives, positives),
    st.builds(lambda pair: Prior("Uniform", *pair), ends),
    st.builds(Prior, st.just("TruncatedNormal"), reals, positives),
    st.builds(lambda mean, sd, pair: Prior("TruncatedNormal", mean, sd, *pair), reals, positives, ends),
    st.builds(lambda mean, sd, low: Prior("TruncatedNormal", mean, sd, low), reals, positives, reals),
    st.builds(Prior, st.just("Fixed"), reals),
)


def test_every_family_is_in_these_tests() -> None:
    with pytest.raises(PriorError, match="the families are") as error:
        Prior("nonsense", 1.0)
    listed = str(error.value).split("the families are ")[1].split(", ")
    assert {prior.family for prior in SAME} | {"Fixed"} == set(listed)


@given(PRIORS)
def test_printed_priors_are_read_back_exactly(prior: Prior) -> None:
    again = Prior.parse(str(prior))
    assert again == prior
    assert hash(again) == hash(prior)
    assert eval(repr(prior), {"Prior": Prior, "inf": math.inf}) == prior
    assert pickle.loads(pickle.dumps(prior)) == prior
    assert all(type(value) is float for value in prior.arguments)


@given(PRIORS, PRIORS)
def test_priors_are_equal_when_they_print_alike(one: Prior, other: Prior) -> None:
    assert (one == other) == (str(one).replace("-0.0", "0.0") == str(other).replace("-0.0", "0.0"))


@pytest.mark.parametrize(
    ("text", "prior"),
    [
        ("LogNormal(0.5, 0.4)", Prior("LogNormal", 0.5, 0.4)),
        ("  LogNormal ( 0.5,0.4 ) ", Prior("LogNormal", 0.5, 0.4)),
        ("LogNormal(log(1.7), 0.5)", Prior("LogNormal", math.log(1.7), 0.5)),
        ("LogNormal( log( 1.7 ) , 5e-1)", Prior("LogNormal", math.log(1.7), 0.5)),
        ("Normal(-log(2), sqrt(2))", Prior("Normal", -math.log(2), math.sqrt(2))),
        ("Normal(exp(-1), 1)", Prior("Normal", math.exp(-1), 1.0)),
        ("TruncatedNormal(1, 2)", Prior("TruncatedNormal", 1.0, 2.0, 0.0, math.inf)),
        ("TruncatedNormal(1, 2, -1)", Prior("TruncatedNormal", 1.0, 2.0, -1.0, math.inf)),
        ("TruncatedNormal(1, 2, -inf, 3)", Prior("TruncatedNormal", 1.0, 2.0, -math.inf, 3.0)),
        ("Fixed(0.35)", Prior("Fixed", 0.35)),
        ("0.35", Prior("Fixed", 0.35)),
        (" -1e-3 ", Prior("Fixed", -1e-3)),
        ("log(1.7)", Prior("Fixed", math.log(1.7))),
        (0.35, Prior("Fixed", 0.35)),
        (2, Prior("Fixed", 2.0)),
        (np.float32(0.5), Prior("Fixed", 0.5)),
        (np.int64(2), Prior("Fixed", 2.0)),
        (Prior("Normal", 0.0, 1.0), Prior("Normal", 0.0, 1.0)),
    ],
)
def test_what_can_be_written(text: Any, prior: Prior) -> None:
    assert Prior.parse(text) == prior


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Lognormal(0.5, 0.4)", "unknown prior family 'Lognormal'; the families are Beta, .*LogNormal"),
        ("LogNormal(0.5)", r"LogNormal takes \(log_median, log_sd\), got 1 numbers"),
        ("LogNormal(0.5, 0.4, 3)", r"LogNormal takes \(log_median, log_sd\), got 3 numbers"),
        ("Fixed()", r"Fixed takes \(value\), got 0 numbers"),
        ("TruncatedNormal(0, 1, 2, 3, 4)", r"TruncatedNormal takes \(mean, sd, low, high\), got 5 numbers"),
        ("LogNormal(0.5, 0)", "log_sd must be above 0, got 0.0"),
        ("Normal(0.5, -1)", r"Normal\(0.5, -1.0\): sd must be above 0, got -1.0"),
        ("HalfNormal(-1)", "scale must be above 0"),
        ("Gamma(2, 0)", "rate must be above 0"),
        ("Gamma(0, 2)", "shape must be above 0"),
        ("Beta(1, -2)", "b must be above 0"),
        ("Uniform(2, 1)", "low must be below high"),
        ("Uniform(1, 1)", "low must be below high"),
        ("Uniform(0, inf)", "high must be a finite number, got inf"),
        ("TruncatedNormal(0, 1, 3, 2)", "low must be below high"),
        ("TruncatedNormal(0, 0)", "sd must be above 0"),
        ("Normal(nan, 1)", "Normal: mean must be a finite number, got nan"),
        ("Normal(0, inf)", "sd must be a finite number, got inf"),
        ("inf", "Fixed: value must be a finite number"),
        ("Normal(log(0), 1)", r"cannot read 'log\(0\)' in the prior 'Normal\(log\(0\), 1\)'"),
        ("Normal(log(-1), 1)", r"cannot read 'log\(-1\)'"),
        ("Normal(exp(1e9), 1)", r"cannot read 'exp\(1e9\)'"),
        ("Normal(sin(1), 1)", r"cannot read 'sin\(1\)'.*expected a number such as 1.7, log\(1.7\) or sqrt\(2\)"),
        ("Normal(log(1.7, 1)", r"cannot read 'log\(1.7'"),
        ("Normal(log1.7, 1)", "cannot read 'log1.7'"),
        ("Normal(1,,2)", "cannot read '' in the prior"),
        ("Normal(1 2)", "cannot read '1 2'"),
        ("Normal(a, 1)", r"cannot read 'a' in the prior 'Normal\(a, 1\)'"),
        ("Normal", "cannot read 'Normal'.*a prior such as LogNormal"),
        ("Normal(0, 1", r"cannot read 'Normal\(0, 1'"),
        ("", "cannot read ''"),
    ],
)
def test_what_cannot_is_answered_with_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(PriorError, match=said) as error:
        Prior.parse(text)
    assert isinstance(error.value, BayescaleError)


@given(st.text(max_size=30) | st.from_regex(r"[A-Za-z]{1,12}\([-a-z0-9.,() ]{0,20}\)", fullmatch=True))
def test_any_text_is_a_prior_or_a_sentence(text: str) -> None:
    try:
        prior = Prior.parse(text)
    except PriorError:
        return
    assert Prior.parse(str(prior)) == prior


def test_equality_and_hash() -> None:
    prior = Prior("LogNormal", 0.5, 0.4)
    assert prior == Prior("LogNormal", 0.5, 0.4)
    assert len({prior, Prior.parse("LogNormal(.5, 4e-1)")}) == 1
    assert prior != Prior("LogNormal", 0.5, 0.41)
    assert prior != Prior("Normal", 0.5, 0.4)
    assert prior != "LogNormal(0.5, 0.4)"
    with pytest.raises(AttributeError):
        prior.family = "Normal"


@families
def test_numpyro_distribution_is_the_one_the_arguments_name(prior: Prior, same: Any) -> None:
    values = same.ppf(np.linspace(0.01, 0.99, 21))
    log_density = jax.vmap(prior.distribution().log_prob)(jnp.asarray(values))
    # Both subtract normalising constants of order 10; SciPy's truncated normal is good to 1e-12.
    np.testing.assert_allclose(log_density, same.logpdf(values), rtol=1e-10, atol=1e-12)


@families
def test_draws_are_from_the_numpyro_distribution(prior: Prior, same: Any) -> None:
    size = 20_000
    draws = prior.sample(np.random.default_rng(7), size)
    assert draws.shape == (size,)
    assert draws.dtype == np.float64
    distribution = prior.distribution()
    assert np.all(distribution.support(jnp.asarray(draws)))
    levels = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    below = (draws[:, None] < same.ppf(levels)).mean(axis=0)
    # Five binomial standard errors: a fair sampler fails one seed in 200,000 at seven levels.
    assert (abs(below - levels) < 5 * np.sqrt(levels * (1 - levels) / size)).all(), dict(
        zip(levels, below, strict=True)
    )
    # a Student-t through a transform has no mean that anybody writes down, and of three degrees of freedom none at all
    mean = math.inf if isinstance(same, _Transformed) else float(distribution.mean)
    if math.isfinite(mean):
        assert abs(draws.mean() - mean) < 5 * same.std() / math.sqrt(size)


@families
def test_draws_are_the_seeds_and_nothing_else(prior: Prior, same: Any) -> None:
    first, again, other = (prior.sample(np.random.default_rng(seed), 5) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@families
def test_median_is_a_scale(prior: Prior, same: Any) -> None:
    # The median of 4,001 draws: five standard errors on the scale of the quantile level are .04.
    assert abs(same.cdf(prior.median) - 0.5) < 5 * 0.5 / math.sqrt(4001)
    assert prior.median == prior.median


def test_a_pinned_parameter() -> None:
    prior = Prior.parse("0.35")
    assert prior.fixed
    assert prior.median == 0.35
    np.testing.assert_array_equal(prior.sample(np.random.default_rng(0), 3), [0.35] * 3)
    assert not Prior("Normal", 0.0, 1.0).fixed


def test_assignments() -> None:
    priors = parse_assignments(["E=LogNormal(log(1.8), 0.2)", " alpha = 0.35", "b=Normal(0, 1)"])
    assert priors == {
        "E": Prior("LogNormal", math.log(1.8), 0.2),
        "alpha": Prior("Fixed", 0.35),
        "b": Prior("Normal", 0.0, 1.0),
    }
    assert list(priors) == ["E", "alpha", "b"]
    assert parse_assignments([]) == {}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["E"], r"cannot read the prior 'E': write it as name=prior, e\.g\. E=LogNormal\(0\.6, 0\.2\)"),
        (["=Normal(0,1)"], "write it as name=prior"),
        (["E="], "write it as name=prior"),
        (["E=1.7", "E=Normal(0,1)"], r"two priors are given for E: Fixed\(1\.7\) and Normal\(0,1\)"),
        (["E=Normal(x,1)"], "cannot read 'x'"),
    ],
)
def test_bad_assignments(texts: list[str], said: str) -> None:
    with pytest.raises(PriorError, match=said):
        parse_assignments(texts)


def test_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "priors.toml"
    path.write_text('[priors]\nE = "LogNormal(log(1.8), 0.2)"\nalpha = 0.35\nbeta = 1\n')
    assert read_toml(path) == {
        "E": Prior("LogNormal", math.log(1.8), 0.2),
        "alpha": Prior("Fixed", 0.35),
        "beta": Prior("Fixed", 1.0),
    }
    assert read_toml(str(path)) == read_toml(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", r"has no \[priors\] table; write \[priors\]"),
        (b"priors = 3\n", r"has no \[priors\] table"),
        (b"[priors]\nE = Normal(0, 1)\n", "is not a TOML file"),
        (b"\xff\xfe\x00", "is not a TOML file"),
        (b"[priors]\nE = true\n", "the prior of E must be text or a number, got True"),
        (b"[priors]\nE = [1, 2]\n", r"the prior of E must be text or a number, got \[1, 2\]"),
        (b'[priors]\nE = "Normal(0)"\n', r"the prior of E: Normal takes \(mean, sd\), got 1 numbers"),
    ],
)
def test_bad_toml_files_are_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "priors.toml"
    path.write_bytes(content)
    with pytest.raises(PriorError, match=said) as error:
        read_toml(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["absent.toml", "."])
def test_a_toml_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(PriorError, match="cannot read the priors file"):
        read_toml(tmp_path / name)


@pytest.mark.parametrize("family", ["LogStudentT", "LogitStudentT"])
def test_draws_of_the_heaviest_tails_are_numbers(family: str) -> None:
    """A Cauchy in the exponent goes beyond the largest number there is in one draw of a few hundred."""
    drawn = Prior(family, 1.0, 0.0, 2.0).sample(np.random.default_rng(0), 4000)
    assert np.isfinite(drawn).all()
    assert (drawn >= 0).all()
