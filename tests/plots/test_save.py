"""Files of a picture."""

import struct

import pytest
from matplotlib.figure import Figure

from bayescale import plots
from bayescale.errors import BayescaleError


def test_both_files_at_print_size(pictures, tmp_path):
    png, pdf = plots.save(pictures["forecast_band"](3.5), tmp_path / "new folder" / "band")
    assert (png.name, pdf.name) == ("band.png", "band.pdf")
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    assert (width, height) == (700, 525)  # 3.5 by 2.625 inches at 200 dots an inch
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/Type3" not in content.replace(b" ", b"")


def test_the_same_picture_gives_the_same_bytes(pictures, tmp_path):
    first, second = (plots.save(pictures["frontier"](3.5), tmp_path / name) for name in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("stem", ["x.png", "x.pdf", "x"])
def test_a_picture_ending_is_taken_off(stem, tmp_path):
    assert [path.name for path in plots.save(Figure(), tmp_path / stem)] == ["x.png", "x.pdf"]


def test_other_dots_stay(tmp_path):
    assert plots.save(Figure(), tmp_path / "C=5.76e23")[0].name == "C=5.76e23.png"


def test_axes_stand_for_their_figure(tmp_path):
    png, _ = plots.save(Figure().add_subplot(), str(tmp_path / "axes"))
    assert png.exists()


def test_a_place_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BayescaleError, match="cannot be written to"):
        plots.save(Figure(), tmp_path / "file" / "band")


def test_not_a_figure(tmp_path):
    with pytest.raises(BayescaleError, match="not a list"):
        plots.save([], tmp_path / "x")
