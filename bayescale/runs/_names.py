"""What people call N, D, C, U, the loss and other inputs of laws, and the units they write into a column's name."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from bayescale.compute import FLOPS_PER_PF_DAY

__all__ = [
    "KNOWN",
    "LOSS_SD",
    "OTHERS",
    "STANDARD",
    "Unit",
    "aliases_of",
    "metric_named",
    "split_unit",
    "standard_name",
    "unit_named",
]

STANDARD = {
    "N": "parameters",
    "D": "training tokens",
    "C": "training FLOPs",
    "U": "unique tokens",
    "loss": "cross-entropy, nats per token",
}
"""Standard name -> what it holds."""

OTHERS = {"S": "training steps", "B": "batch size, tokens"}
"""Inputs that only some laws read, found by alias where a law asks for them and left alone otherwise."""

LOSS_SD = "loss_sd"
"""What the evaluation leaves open of each loss, beside it in the table where somebody measured it."""

KNOWN = STANDARD | OTHERS | {LOSS_SD: "sd of the loss from its evaluation, nats per token"}
"""Every name with a meaning; each is a number above zero."""

_ALIASES = {
    "N": """n nparams numparams numparameters nparameters params param parameters paramcount parametercount
        parameterscount totalparams totalparameters modelsize modelparams modelparameters size effectiveparams
        effectiveparameters activeparams activeparameters paramsactive paramsactiveprecise paramsnoembed
        paramsnoembedding paramsnonembedding paramsnonembed nonembeddingparams nonembedparams nnoemb nnonembed
        nparamsnoembed""",
    "D": """d tokens ntokens numtoken numtokens tokennum tokencount tokenscount tokensseen seentokens totaltokens
        trainingtokens traintokens tokenstrained trainedtokens pretrainingtokens pretrainingdatasize trainingdatasize
        datasize datatokens datasettokens datasetsizetokens seenexamples examplesseen""",
    "C": """c flop flops totalflops totalflop trainingflop trainingflops trainflop trainflops computeflops compute
        trainingcompute traincompute totalcompute computebudget flopbudget flopsbudget budget""",
    "U": "u unique uniquetokens uniquetoken nuniquetokens tokensperepoch uniquedata uniquedatatokens",
    "S": "s step steps nsteps numsteps trainstep trainsteps trainingsteps totalsteps currentsteps optimizersteps",
    # "batch size" alone is as often a number of sequences
    "B": "b batchtokens batchsizetokens batchsizeintokens tokensperbatch tokensperstep",
}
_LOOKUP = {alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()}
# A loss that is an error bar, a copy made by an exporter, or part of another loss is not the loss.
_END = re.compile(r"(lo|hi|low|high|lower|upper)\d*")
_NOT_THE_LOSS = {
    *("min", "max", "std", "sd", "se", "sem", "stderr", "var", "ci", "err", "error", "z", "aux"),
    *("balance", "balancing", "scale", "weight", "weights", "spike", "spikes", "fraction"),
}


@dataclass(frozen=True)
class Unit:
    """A unit that a column is written in: how to get from its numbers to the standard one."""

    text: str
    factor: float = 1.0
    transform: str = "scale"

    def convert(self, values: np.ndarray) -> np.ndarray:
        """Values in the standard unit (parameters, tokens, FLOPs, nats)."""
        with np.errstate(all="ignore"):
            if self.transform == "log10":
                return np.power(10.0, values)
            if self.transform == "ln":
                return np.exp(values)
            if self.transform == "perplexity":
                return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), np.nan)
            if self.transform == "error":
                return 1.0 - self.factor * values
            return values if self.factor == 1.0 else values * self.factor

    def slope(self, values: np.ndarray) -> np.ndarray:
        """The derivative of `convert` for units of a loss: how a small error of a cell becomes one in nats."""
        if self.transform == "perplexity":
            return 1.0 / values
        return np.full(len(values), -self.factor if self.transform == "error" else self.factor)

    def formula(self, column: str) -> str:
        """How a record of the columns spells the conversion."""
        if self.transform == "log10":
            return f"10^({column})"
        if self.transform == "ln":
            return f"exp({column})"
        if self.transform == "perplexity":
            return f"ln({column})"
        if self.transform == "error":
            return f"1 - {column}" if self.factor == 1.0 else f"1 - {self.factor:g} * {column}"
        return column if self.factor == 1.0 else f"{self.factor:g} * {column}"


_COUNT_FACTORS = {
    **dict.fromkeys(("k", "thousand", "thousands"), 1e3),
    **dict.fromkeys(("m", "mn", "million", "millions"), 1e6),
    **dict.fromkeys(("b", "bn", "g", "billion", "billions"), 1e9),
    **dict.fromkeys(("t", "tn", "trillion", "trillions"), 1e12),
}
_FLOP_FACTORS = {
    **dict.fromkeys(("mflop", "mflops"), 1e6),
    **dict.fromkeys(("gflop", "gflops", "gigaflop", "gigaflops"), 1e9),
    **dict.fromkeys(("tflop", "tflops", "teraflop", "teraflops"), 1e12),
    **dict.fromkeys(("pflop", "pflops", "petaflop", "petaflops"), 1e15),
    **dict.fromkeys(("eflop", "eflops", "exaflop", "exaflops"), 1e18),
    **dict.fromkeys(("zflop", "zflops", "zettaflop", "zettaflops"), 1e21),
    **dict.fromkeys(("pfdays", "pfday", "pfsdays", "petaflopdays", "petaflopsdays"), FLOPS_PER_PF_DAY),
}
_NO_FACTOR = {
    "N": {"params", "parameters"},
    "D": {"tokens"},
    "U": {"tokens"},
    "S": {"steps"},
    "B": {"tokens"},
    "C": {"flop", "flops"},
    "loss": {"nats", "nat", "natspertoken", "nats/token", "nattoken"},
}


def standard_name(text: str) -> str | None:
    """The standard name meant by a key such as ``n`` or ``Loss``; None where there is none."""
    return next((name for name in (*STANDARD, LOSS_SD) if name.lower() == text.strip().lower()), None)


def aliases_of(column: str) -> tuple[str, Unit | None] | None:
    """The standard name that a column's name stands for, and the unit in it; None where it stands for none.

    A unit that is not known ("Params (weird)") is no alias: the column is then named with ``--column``.
    """
    last = column.rsplit("/", 1)[-1]
    for text in (column, last) if last != column else (column,):
        base, unit_text = split_unit(text)
        name = _LOOKUP.get(_squeezed(base))
        if name is not None:
            unit = None if unit_text is None else unit_named(unit_text, name)
            if unit_text is None or unit is not None:
                return name, unit
        if found := _worded(text):
            return found
    return ("loss", _loss_unit(column)) if _is_loss(column) else None


def metric_named(column: str) -> str | None:
    """``perplexity``, ``accuracy`` or ``bits per byte`` where a column's name says it is that and not a loss."""
    parts = _parts(column)
    squeezed = _squeezed(column)
    if "ppl" in parts or "perplexity" in squeezed:
        # "log_perplexity" is the loss in nats.
        return None if "log" in parts or "ln" in parts else "perplexity"
    if {"acc", "accuracy"} & parts or squeezed.endswith("accuracy"):
        return "accuracy"
    return "bits per byte" if {"bpb", "bpc"} & parts or "bitsperbyte" in squeezed else None


def split_unit(column: str) -> tuple[str, str | None]:
    """``"Model Size (B)"`` -> ``("Model Size", "B")``; None where the name ends in no bracket."""
    match = re.fullmatch(r"(.*\S)\s*[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*", column, re.DOTALL)
    return (match[1], match[2]) if match else (column, None)


def unit_named(text: str, name: str) -> Unit | None:
    """The unit that `text` spells for the standard name `name`; None where it is not known."""
    word = text.strip().lower().removeprefix("in ").removeprefix("x").strip().replace("-", "").replace(" ", "")
    if word in _NO_FACTOR.get(name, set()):
        return Unit(text)
    if name == "loss":
        return _LOSS_UNITS.get(word)
    if word in {"log10", "ln"}:
        # "log" alone is not known: it is either of the two.
        return Unit(text, transform=word)
    if power := re.fullmatch(r"(?:1e|10\^|10\*\*)\+?([0-9]{1,2})(?:flops?|tokens|params|parameters)?", word):
        return Unit(text, float(f"1e{power[1]}"))
    if name == "C":
        factor = _FLOP_FACTORS.get(word)
    else:
        factor = _COUNT_FACTORS.get(word.removesuffix("tokens").removesuffix("parameters").removesuffix("params"))
    return None if factor is None else Unit(text, factor)


_LOSS_UNITS = {
    "bits": Unit("bits", float(np.log(2.0))),
    "bits/token": Unit("bits", float(np.log(2.0))),
    "bitspertoken": Unit("bits", float(np.log(2.0))),
    "perplexity": Unit("perplexity", transform="perplexity"),
    "ppl": Unit("perplexity", transform="perplexity"),
    # of a metric that rises, the error is what laws describe
    "accuracy": Unit("accuracy", transform="error"),
    "accuracy%": Unit("accuracy", 0.01, transform="error"),
}


def _worded(column: str) -> tuple[str, Unit] | None:
    """Units written as words: ``tokens_B``, ``params_millions``, ``total_gflops``, ``log10_tokens``."""
    squeezed = _squeezed(column)
    if match := re.fullmatch(r"(?:total|train|training)([mgtpez]flops?)", squeezed):
        return "C", Unit(match[1], _FLOP_FACTORS[match[1]])
    if squeezed.startswith("log10") and squeezed[5:] in _LOOKUP:
        return _LOOKUP[squeezed[5:]], Unit("log10", transform="log10")
    base, _, last = re.sub(r"[\s_\-.]+", "_", column.strip()).rpartition("_")
    name = _LOOKUP.get(_squeezed(base).removesuffix("in")) or _LOOKUP.get(_squeezed(base))
    if name is None or len(base) == 1:
        # One letter and another are a symbol with an index: d_k is a width, not thousands of tokens.
        return None
    unit = unit_named(last, name)
    return None if unit is None or unit == Unit(last) else (name, unit)


def _is_loss(column: str) -> bool:
    last = column.rsplit("/", 1)[-1]
    parts = _parts(last)
    if parts & _NOT_THE_LOSS or any(map(_END.fullmatch, parts)) or metric_named(column) is not None:
        return False
    return "loss" in parts or _squeezed(last).endswith(("loss", "crossentropy", "logperplexity"))


def _loss_unit(column: str) -> Unit | None:
    bracketed = split_unit(column)[1]
    if bracketed is not None:
        return unit_named(bracketed, "loss")
    return unit_named("bits", "loss") if _squeezed(column).endswith("lossbits") else None


def _squeezed(text: str) -> str:
    return re.sub(r"[\s_\-.]+", "", text).lower()


def _parts(text: str) -> set[str]:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", text)
    return {part.lower() for part in re.split(r"[^A-Za-z0-9]+", apart) if part}
