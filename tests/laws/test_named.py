"""Laws as a person names them: settings in brackets, and what is said of those that cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayescale.errors import BayescaleError
from bayescale.laws import names, parse, parts, settings_of
from bayescale.laws.atlas import Atlas
from bayescale.laws.atlas_tied import AtlasTied
from bayescale.laws.chinchilla import Chinchilla


def test_names_and_settings() -> None:
    assert parse("chinchilla") == Chinchilla()
    assert parse(" atlas( k = 5 ) ") == Atlas(k=5)
    assert parse("atlas(k=all)") == Atlas(k=None)
    assert parse("atlas-tied(k=2)") == AtlasTied(k=2)
    assert settings_of(Atlas) == {"k": 3, "transfer": (), "sources": None}
    assert [name for name in names() if parse(name).name != name] == []


def test_several_at_once() -> None:
    assert parts("msl, atlas(k=3,transfer=t.csv),chinchilla") == ["msl", "atlas(k=3,transfer=t.csv)", "chinchilla"]


def test_transfer_scores_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("target,source,score,sd\nen,fr,0.5,0.1\nsw,en,-1.0,\nsw,fr,,\n")
    assert parse(f"atlas(transfer={table})") == Atlas(transfer={("en", "fr"): 0.5, ("sw", "en"): -1.0})
    table.write_text("target,score\nen,0.5\n")
    with pytest.raises(BayescaleError, match="has no column 'source'; transfer scores are in target, source and score"):
        parse(f"atlas(transfer={table})")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("atlas(k=0)", "k is how many sources have a tau of their own: 1 or more, or all; got 0"),
        ("atlas(k=true)", "1 or more, or all; got True"),
        ("atlas(m=1)", "atlas has no setting 'm'; its settings are k, transfer, sources"),
        ("chinchilla(k=3)", "chinchilla has no setting 'k'; it has none"),
        ("atlas(k=3", "cannot read the law"),
        ("atlas(k)", "cannot read 'k' in the law"),
        ("atlas(k=1,k=2)", "gives k twice"),
        ("atlas(sources=en)", "sources are given by target"),
        ("atlas(transfer=5)", "transfer scores are given by"),
        ("atlas(transfer=nowhere.csv)", "there is no file nowhere.csv"),
        ("atlsa(k=3)", "did you mean atlas"),
    ],
)
def test_what_cannot_be_meant(text: str, said: str) -> None:
    with pytest.raises(BayescaleError, match=said.replace("(", r"\(")):
        parse(text)
