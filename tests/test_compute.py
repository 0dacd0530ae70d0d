"""FLOP arithmetic in float64, and every spelling of a quantity seen in real tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayescale import compute
from bayescale.errors import BayescaleError

SPELLINGS = {
    "70B": 70e9,
    "1.4T": 1.4e12,
    "350M": 350e6,
    "125m": 125e6,
    "1.3b": 1.3e9,
    "1.3B": 1.3e9,
    "2b8": 2.8e9,
    "1b4": 1.4e9,
    "6.9B": 6.9e9,
    "0.011B": 11e6,
    "12k": 12e3,
    "3e21": 3e21,
    "1E9": 1e9,
    "1e-3": 1e-3,
    " 42 ": 42.0,
    "+7": 7.0,
    ".5": 0.5,
    "-3": -3.0,
    "1,300,000,000": 1.3e9,
    "1,300": 1300.0,
    "1_300_000": 1.3e6,
    "1 300 000": 1.3e6,
    "1,300.5": 1300.5,
    "7 billion": 7e9,
    "2 bn": 2e9,
    "7B params": 7e9,
    "1.4T tokens": 1.4e12,
    "3e21 FLOPs": 3e21,
    "84000000000000000000000": 8.4e22,
    "1" + "0" * 35: 1e35,
}


@pytest.mark.parametrize(("text", "value"), SPELLINGS.items())
def test_spellings_are_read_exactly(text: str, value: float) -> None:
    # Exactly: the suffix moves the decimal point in the text, so no rounding step is added.
    assert compute.parse_quantity(text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3,21", "two ways"),
        ("1,300B", "two ways"),
        ("12,34,567", "two ways"),
        ("1.300.000.000", "more than one decimal point"),
        ("", "no number"),
        ("   ", "no number"),
        ("seven", "not a number"),
        ("7Q", "not a number"),
        ("1e3M", "not a number"),
        ("2b84b4b", "not a number"),
        ("0x1F", "not a number"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("1e400", "not a finite number"),
        ("30 GFLOPs", "not a number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(compute.QuantityError, match=said) as caught:
        compute.parse_quantity(text)
    assert isinstance(caught.value, BayescaleError)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), 10**400, None, [1]])
def test_values_that_are_no_finite_number_are_refused(value: object) -> None:
    with pytest.raises(compute.QuantityError):
        compute.parse_quantity(value)  # type: ignore[arg-type]


def test_numbers_pass_through() -> None:
    assert compute.parse_quantity(7) == 7.0
    assert compute.parse_quantity(np.int64(7_000_000_000)) == 7e9
    assert compute.parse_quantity(10**35) == 1e35


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = compute.parse_quantity(text)
    except compute.QuantityError:
        return
    assert np.isfinite(value)


@given(st.floats(min_value=1e-3, max_value=999.0), st.sampled_from("KMBTkmbt"))
def test_a_suffix_is_a_power_of_a_thousand(number: float, suffix: str) -> None:
    power = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}[suffix.lower()]
    # One rounding of the product against one rounding of the text: at most one unit in the last place.
    assert compute.parse_quantity(f"{number:.6f}{suffix}") == pytest.approx(float(f"{number:.6f}") * power, rel=3e-16)


def test_training_flops_does_not_overflow_integers() -> None:
    N = np.array([7_000_000_000], dtype=np.int64)
    D = np.array([2_000_000_000_000], dtype=np.int64)
    with np.errstate(over="ignore"):
        assert (6 * N * D)[0] < 0  # the trap: int64 wraps round
    flops = compute.training_flops(N, D)
    assert flops.dtype == np.float64
    assert flops[0] == 8.4e22


def test_the_three_forms_of_6nd_are_inverse() -> None:
    N, D = np.array([1e6, 7e9, 1e15]), np.array([2e7, 2e12, 1e17])
    C = compute.training_flops(N, D)
    # Two roundings each way.
    np.testing.assert_allclose(compute.training_tokens(C, N), D, rtol=5e-16)
    np.testing.assert_allclose(compute.training_parameters(C, D), N, rtol=5e-16)


def test_pf_days_and_accelerator_time() -> None:
    assert compute.pf_days(3.64e3 * 8.64e19) == pytest.approx(3640.0, rel=1e-15)
    # 8.64e19 FLOPs on one accelerator of 1 PFLOP/s at full use: one day.
    assert compute.accelerator_seconds(8.64e19, peak_flops=1e15, utilisation=1.0) == 86_400.0
    assert compute.accelerator_seconds(8.64e19, peak_flops=1e15, utilisation=0.5, accelerators=4) == 43_200.0


@pytest.mark.parametrize("wrong", [{"peak_flops": 0.0}, {"utilisation": 40.0}, {"accelerators": 0}])
def test_accelerator_time_refuses_what_makes_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(compute.QuantityError, match=next(iter(wrong))):
        compute.accelerator_seconds(1e20, **({"peak_flops": 1e15} | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [(70e9, "70B"), (1.4e12, "1.4T"), (350e6, "350M"), (114.0, "114"), (5.76e23, "5.76e+23"), (1e12, "1T")],
)
def test_format_quantity(value: float, text: str) -> None:
    assert compute.format_quantity(value) == text
    assert compute.parse_quantity(text) == value


def test_format_quantity_rounds_before_it_chooses_the_suffix() -> None:
    assert compute.format_quantity(999.96e9) == "1T"
