"""Fits as files: equal bit for bit, whole or not at all, and refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayescale.errors import FitError
from bayescale.fits import Fit, _storage
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.power_c import PowerC
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior import Prior
from bayescale.runs import Runs

THETA = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}


def draws(*names: str, chains: int = 2) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {name: THETA.get(name, 0.1) * np.exp(0.01 * generator.standard_normal((chains, 30))) for name in names}


@pytest.fixture
def small(assemble: Callable[..., Fit], simulate: Callable[..., Runs]) -> Fit:
    """A fit made by hand, with noise and priors of its own."""
    model = Model(Chinchilla(N0=3e6, D0=1 / 3), Noise("student-t", ("D",))).with_priors(
        E="LogNormal(log(3), 0.1)", nu=4.5
    )
    theta = draws(*model.priors) | {"nu": np.full((2, 30), 4.5)}
    return assemble(simulate(size=20), model.law, theta, model=model, warnings=("a warning",))


class TestRoundTrip:
    def test_of_a_real_fit(self, simulated_fit: Fit, tmp_path: Path) -> None:
        path = simulated_fit.save(tmp_path / "fit.nc")
        again = Fit.load(path)
        assert again == simulated_fit
        assert again.record == simulated_fit.record
        assert again.model == simulated_fit.model
        assert again.law == simulated_fit.law
        assert again.diagnostics == simulated_fit.diagnostics
        for group in ("posterior", "sample_stats", "observed_data", "constant_data"):
            saved, loaded = simulated_fit.tree[group].to_dataset(), again.tree[group].to_dataset()
            assert set(saved.variables) == set(loaded.variables)
            for name in saved.variables:
                assert saved[name].dtype == loaded[name].dtype
                assert saved[name].values.tobytes() == loaded[name].values.tobytes()
        assert repr(again) == repr(simulated_fit)
        assert again.summary().equals(simulated_fit.summary())

    def test_answers_are_the_same(self, simulated_fit: Fit, tmp_path: Path) -> None:
        again = Fit.load(simulated_fit.save(tmp_path / "fit.nc"))
        targets = {"N": [7e10], "D": [1.4e12]}
        assert again.forecast(targets).identical(simulated_fit.forecast(targets))
        assert again.allocation([1e24]).identical(simulated_fit.allocation([1e24]))
        assert again.runs == simulated_fit.runs
        assert again.runs.sha256 == simulated_fit.record.table["sha256"]

    def test_of_a_fit_with_everything_unusual(self, small: Fit, tmp_path: Path) -> None:
        again = Fit.load(small.save(tmp_path / "a name with spaces.nc"))
        assert again == small
        assert again.law == Chinchilla(N0=3e6, D0=1 / 3)
        assert again.model is not None
        assert again.model.priors["nu"] == Prior("Fixed", 4.5)
        assert again.diagnostics.warnings == ("a warning",)

    @pytest.mark.parametrize("kind", ["bootstrap", "point"])
    def test_of_other_kinds(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs], tmp_path: Path, kind: str
    ) -> None:
        theta = {name: values[:1, : 1 if kind == "point" else 30] for name, values in draws(*THETA).items()}
        made = assemble(simulate(size=20), Chinchilla(), theta, kind=kind)
        again = Fit.load(made.save(tmp_path / "fit.nc"))
        assert again == made
        assert again.kind == kind
        assert again.model is None

    def test_another_fit_is_not_equal(self, small: Fit, simulated_fit: Fit) -> None:
        assert small != simulated_fit
        assert small != "a fit"
        changed = Fit(
            small.tree.map_over_datasets(lambda data: data + 0 if "E" not in data else data.assign(E=data.E * 2))
        )
        assert changed != small

    def test_a_law_of_compute(self, assemble: Callable[..., Fit], tmp_path: Path) -> None:
        table = Runs.from_arrays(C=[1e17, 1e18, 1e19], loss=[3.9, 3.4, 3.0])
        made = assemble(table, PowerC(), draws("E", "c", "gamma"))
        assert Fit.load(made.save(tmp_path / "fit.nc")) == made


class TestNames:
    """Tables whose columns have names that a file has rules about."""

    def test_text_columns_and_slashes(self, assemble: Callable[..., Fit], tmp_path: Path) -> None:
        frame = pd.DataFrame(
            {
                "params": [1e8, 1e9, 1e10],
                "tokens": [2e9, 2e10, 2e11],
                "eval/loss": [3.0, 2.5, 2.2],
                "run/name": ["a", "b", "ü"],
                "group": [None, "x", "y"],
            }
        )
        runs = Runs.read(frame, columns={"loss": "eval/loss"}, needs=["N", "D", "loss"])
        made = assemble(runs, Chinchilla(), draws(*THETA))
        again = Fit.load(made.save(tmp_path / "fit.nc"))
        assert again == made
        assert set(made.tree["constant_data"].data_vars) == {"N", "D", "C"}

    def test_a_noise_column_with_a_slash(self, assemble: Callable[..., Fit], tmp_path: Path) -> None:
        column = "opt/batch"
        runs = Runs.from_arrays(
            N=[1e8, 1e9, 1e10], D=[2e9, 2e10, 2e11], loss=[3.0, 2.5, 2.2], **{column: [256.0, 512.0, 512.0]}
        )
        model = Model(Chinchilla(), Noise("normal", (column,)))
        made = assemble(runs, model.law, draws(*model.priors), model=model)
        again = Fit.load(made.save(tmp_path / "fit.nc"))
        assert again == made
        assert f"sigma_{column}" in again.draws
        assert f"sigma_{column}" in again.theta
        np.testing.assert_array_equal(again.runs[column], [256.0, 512.0, 512.0])
        forecast = again.forecast({"N": [1e9], "D": [2e10], column: [512.0]})
        assert np.isfinite(forecast["new_run_loss"]).all()


class TestDefaultsThatChange:
    def test_a_file_keeps_its_priors(self, simulated_fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = simulated_fit.save(tmp_path / "fit.nc")
        before = simulated_fit.model
        assert before is not None
        monkeypatch.setattr(Chinchilla, "priors", dict(Chinchilla.priors) | {"E": Prior("Normal", 0.0, 9.0)})
        again = Fit.load(path)
        assert again.model is not None
        assert str(again.model.priors["E"]) == simulated_fit.record.model["priors"]["E"]
        assert again.model.priors["E"] != Prior("Normal", 0.0, 9.0)


class TestWriting:
    @pytest.mark.parametrize("name", ["fit", "fit.csv", "fit.nc.gz"])
    def test_the_name_ends_in_nc(self, small: Fit, tmp_path: Path, name: str) -> None:
        with pytest.raises(FitError, match=r"give a name that ends in \.nc"):
            small.save(tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_a_folder_that_is_not_there(self, small: Fit, tmp_path: Path) -> None:
        with pytest.raises(FitError, match=r"cannot write .*none/fit\.nc: No such file or directory"):
            small.save(tmp_path / "none" / "fit.nc")

    def test_a_folder_that_cannot_be_written(self, small: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(**_: object) -> None:
            raise PermissionError(13, "Permission denied")

        # whoever runs the tests may be allowed to write everywhere
        monkeypatch.setattr(_storage.tempfile, "mkstemp", refuse)
        with pytest.raises(FitError, match=r"cannot write .*fit\.nc: Permission denied"):
            small.save(tmp_path / "fit.nc")

    def test_a_failure_leaves_the_last_good_file(
        self, small: Fit, simulated_fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = simulated_fit.save(tmp_path / "fit.nc")
        written = xr.DataTree.to_netcdf

        def fail_halfway(tree: xr.DataTree, target: str, **how: object) -> None:
            written(tree, target, **how)  # type: ignore[arg-type]
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(xr.DataTree, "to_netcdf", fail_halfway)
        with pytest.raises(FitError, match="No space left on device"):
            small.save(path)
        assert [file.name for file in tmp_path.iterdir()] == ["fit.nc"]
        assert Fit.load(path) == simulated_fit

    def test_a_crash_leaves_the_last_good_file(
        self, small: Fit, simulated_fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = simulated_fit.save(tmp_path / "fit.nc")

        def crash(*_: object, **__: object) -> None:
            raise MemoryError

        monkeypatch.setattr(xr.DataTree, "to_netcdf", crash)
        with pytest.raises(MemoryError):
            small.save(path)
        assert [file.name for file in tmp_path.iterdir()] == ["fit.nc"]
        assert Fit.load(path) == simulated_fit

    def test_the_file_is_put_in_place_in_one_step(
        self, small: Fit, simulated_fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = simulated_fit.save(tmp_path / "fit.nc")

        def refuse(source: str, target: Path) -> None:
            # all of the new file is there, beside the old one, and on the same disk
            assert Fit.load(source) == small
            assert Path(source).parent == Path(target).parent
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(_storage.os, "replace", refuse)
        with pytest.raises(FitError, match="No space left on device"):
            small.save(path)
        assert Fit.load(path) == simulated_fit
        assert [file.name for file in tmp_path.iterdir()] == ["fit.nc"]

    def test_a_file_is_replaced(self, small: Fit, simulated_fit: Fit, tmp_path: Path) -> None:
        path = simulated_fit.save(tmp_path / "fit.nc")
        assert Fit.load(small.save(str(path))) == small


class TestReading:
    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(FitError, match=r"there is no fit at .*none\.nc; `bayescale fit RUNS --out none\.nc`"):
            Fit.load(tmp_path / "none.nc")

    @pytest.mark.parametrize("content", [b"", b"N,D,loss\n1,2,3\n", b"\x89HDF\r\n\x1a\n" + bytes(100)])
    def test_a_file_that_is_not_netcdf(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "junk.nc"
        path.write_bytes(content)
        with pytest.raises(FitError, match=r"junk\.nc is not a fit written by bayescale"):
            Fit.load(path)

    def test_half_a_file(self, small: Fit, tmp_path: Path) -> None:
        path = small.save(tmp_path / "fit.nc")
        path.write_bytes(path.read_bytes()[:-1000])
        with pytest.raises(FitError, match=r"fit\.nc is not a fit written by bayescale"):
            Fit.load(path)

    def test_somebody_elses_netcdf(self, tmp_path: Path) -> None:
        xr.Dataset({"t": ("x", np.arange(3.0))}).to_netcdf(tmp_path / "foreign.nc", engine="h5netcdf")
        with h5py.File(tmp_path / "plain.nc", "w") as file:
            file["x/y"] = np.arange(3)
        for name in ("foreign.nc", "plain.nc"):
            with pytest.raises(FitError, match=rf"{name} is a netCDF file, but not a fit written by bayescale"):
                Fit.load(tmp_path / name)

    @pytest.mark.parametrize("record", ["{}", "not json", '{"law": "chinchilla"}', "[1, 2]"])
    def test_a_record_that_cannot_be_read(self, record: str) -> None:
        with pytest.raises(FitError, match="this is not a bayescale fit: its record cannot be read"):
            Fit(xr.DataTree(xr.Dataset(attrs={"bayescale": record})))

    def test_the_record_is_plain_json(self, small: Fit) -> None:
        record = json.loads(small.tree.attrs["bayescale"])
        assert record["law"] == "chinchilla"
        assert record["table"]["sha256"] == small.runs.sha256
        assert record["model"]["noise"] == "student-t(D)"
        assert record["diagnostics"]["warnings"] == ["a warning"]
