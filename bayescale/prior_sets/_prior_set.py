"""PriorSet: the priors and the discrepancy that families of runs taught, and which families those were."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayescale.discrepancy import Discrepancy
from bayescale.errors import PriorError, RunsError
from bayescale.ladder import Ladder
from bayescale.laws import get
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior import Prior
from bayescale.prior_sets._combine import by_parameter, combine
from bayescale.runs import Runs

__all__ = ["Family", "PriorSet", "load", "names"]

# The families of priors that can be learnt, and the scale on which a parameter is then real.
SCALES = {"LogStudentT": "log", "LogitStudentT": "logit", "StudentT": "itself"}


@dataclass(frozen=True)
class Family:
    """What one table of runs said of the parameters of the law.

    Attributes
    ----------
    dataset, group : str
        The table, and the design it shares with others.
    told : mapping of str to (float, float)
        What the table says of each parameter by itself, on the scale on which it is real: mean and sd.
    """

    dataset: str
    group: str
    told: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class PriorSet:
    """Priors of a law and a discrepancy, learnt from families of runs.

    Attributes
    ----------
    name, about : str
        What it is called, and what a reader should know of it.
    law, noise : str
        The law and the noise it is for. The law stands at the top of the ladder: 20 tokens per parameter at the largest
        compute of the table that is fitted.
    learnt : mapping of str to str
        Parameters whose priors are learnt, each with the family of that prior.
    given : mapping of str to Prior
        Priors that are not.
    discrepancy : Discrepancy
        What the law may be wrong by.
    families : tuple of Family
        What it was learnt from.
    """

    name: str
    law: str
    noise: str
    learnt: Mapping[str, str]
    given: Mapping[str, Prior]
    discrepancy: Discrepancy
    families: tuple[Family, ...]
    about: str = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of runs it was learnt from, in alphabetical order."""
        return tuple(sorted({family.group for family in self.families}))

    def priors(self, without: frozenset[str] = frozenset()) -> dict[str, Prior]:
        """The priors, learnt from all families, or without groups.

        Parameters
        ----------
        without : frozenset of str
            Groups to leave out; a dataset leaves out the whole group it is in.

        Raises
        ------
        PriorError
            Fewer than three groups are left.
        """
        out = {family.group for family in self.families if {family.group, family.dataset} & without}
        effects = by_parameter((family.group, family.told) for family in self.families if family.group not in out)
        fitted = {name: combine(effects.get(name, ())) for name in self.learnt}
        priors = {
            name: Prior(form, *(round(number, 4) for number in fitted[name])) for name, form in self.learnt.items()
        }
        return priors | dict(self.given)

    def model(self, runs: Runs, without: frozenset[str] = frozenset()) -> Model:
        """The model of this set for a table.

        Raises
        ------
        RunsError
            The table has no compute, from which the ladder is read.
        """
        if "C" not in runs:
            raise RunsError(
                f"the prior set {self.name} reads how far a forecast reaches from the FLOPs of the runs, and "
                f"{runs.source} has none: add N and D, or a FLOPs column with --column C=..."
            )
        law = get(self.law)().at(**Ladder.of(runs["C"]).reference)
        model = Model(law, Noise.parse(self.noise), discrepancy=self.discrepancy)
        return model.with_priors(**self.priors(without))

    def to_toml(self) -> str:
        """The text of its file."""
        lines = [f'name = "{self.name}"', f'law = "{self.law}"', f'noise = "{self.noise}"']
        lines += [f'about = """\n{self.about.strip()}\n"""'] if self.about else []
        lines += ["", "# parameters whose priors are learnt: the family of the prior", "[learnt]"]
        lines += [f'{name} = "{form}"' for name, form in self.learnt.items()]
        lines += [
            "",
            "# priors that are not",
            "[priors]",
            *(f'{name} = "{prior}"' for name, prior in self.given.items()),
        ]
        lines += ["", "[discrepancy]", *(f"{name} = {value!r}" for name, value in self.discrepancy.document().items())]
        lines += ["", "# what each table says by itself: mean and sd, of logarithms and logits"]
        for family in self.families:
            lines += ["", "[[family]]", f'dataset = "{family.dataset}"', f'group = "{family.group}"']
            lines += [f"{name} = [{mean:.4f}, {sd:.4f}]" for name, (mean, sd) in family.told.items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str, source: str) -> PriorSet:
        """The set that `text` describes.

        Raises
        ------
        PriorError
            It is no TOML, or lacks something; the message says what.
        """
        try:
            told = tomllib.loads(text)
            families = tuple(
                Family(
                    one["dataset"],
                    one["group"],
                    {name: (float(pair[0]), float(pair[1])) for name, pair in one.items() if isinstance(pair, list)},
                )
                for one in told.get("family", ())
            )
            unknown = set(told["learnt"].values()) - set(SCALES)
            if unknown:
                raise PriorError(f"{source}: a learnt prior is one of {', '.join(SCALES)}, not {sorted(unknown)[0]}")
            settings, known = told.get("discrepancy", {}), Discrepancy().document()
            strange = [name for name in settings if name not in known]
            if strange:
                raise PriorError(f"{source}: [discrepancy] has no {strange[0]!r}; it has {', '.join(known)}")
            return cls(
                name=told["name"],
                law=told["law"],
                noise=told.get("noise", "student-t"),
                learnt=told["learnt"],
                given={name: Prior.parse(text) for name, text in told.get("priors", {}).items()},
                discrepancy=Discrepancy(**settings),
                families=families,
                about=told.get("about", "").strip(),
            )
        except tomllib.TOMLDecodeError as error:
            raise PriorError(f"{source} is not a TOML file: {error}") from None
        except KeyError as error:
            raise PriorError(f"{source} is no prior set: it has no {error.args[0]!r}") from None
        except (TypeError, ValueError, IndexError) as error:
            raise PriorError(f"{source} is no prior set: {error}") from None


def _bundled() -> Any:
    return importlib.resources.files("bayescale.prior_sets")


def names() -> list[str]:
    """Names of the bundled prior sets, in alphabetical order."""
    return sorted(path.name.removesuffix(".toml") for path in _bundled().iterdir() if path.name.endswith(".toml"))


def load(name: str | Path | PriorSet) -> PriorSet:
    """A bundled prior set by its name, or one of your own by the path of its TOML file.

    Raises
    ------
    PriorError
        There is none of that name, or the file is no prior set.

    Examples
    --------
    >>> load("public").law
    'kappa'
    """
    if isinstance(name, PriorSet):
        return name
    if str(name) in names():
        return PriorSet.from_toml((_bundled() / f"{name}.toml").read_text(encoding="utf-8"), str(name))
    if not str(name).endswith(".toml"):
        raise PriorError(
            f"there is no prior set called {str(name)!r}; the bundled ones are {', '.join(names())}, and a set of your "
            "own is a .toml file"
        )
    try:
        return PriorSet.from_toml(Path(name).read_text(encoding="utf-8"), str(name))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise PriorError(f"cannot read the prior set {name}: {reason}") from None
