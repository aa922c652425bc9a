"""The install helper without pip: settings, requirements, messages, repair."""

import contextlib
import json
import sys
from pathlib import Path

import pytest

from tools import install
from tools.cuda import has_nvidia_gpu
from tools.install import (
    CudaError,
    Installer,
    InstallError,
    Pip,
    Settings,
    base_requirements,
    drop_half_installed,
    failure,
    torch_pin,
    without_torch,
)


def fake_pip(folder: Path, body: str) -> Path:
    """A stand-in for Python with pip; its body finds the values of --log and --report in $log and $report."""
    path = folder / "python"
    path.write_text(
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --log) log=$2;; --report) report=$2;; esac; shift; done\n" + body
    )
    path.chmod(0o755)
    return path


def test_settings_are_read_and_a_torch_wheel_must_exist_and_be_one(tmp_path: Path) -> None:
    assert Settings.from_env({"TORCH_INDEX_URL": "", "TORCH_WHEEL": "", "ALLOW_CUDA": "0"}) == Settings()
    wheel, other = tmp_path / "torch-2.13.0+cpu-cp311-cp311-any.whl", tmp_path / "numpy-2.4.6.whl"
    wheel.touch()
    other.touch()
    found = Settings.from_env({"TORCH_INDEX_URL": "file:///x", "TORCH_WHEEL": str(wheel), "ALLOW_CUDA": "1"})
    assert found == Settings("file:///x", wheel, True)
    for path in (tmp_path / "torch-1.whl", other):
        with pytest.raises(InstallError, match="TORCH_WHEEL"):
            Settings.from_env({"TORCH_WHEEL": str(path)})


def test_torch_comes_first_and_dev_only_on_request() -> None:
    own = {"local": ["torch>=2"], "alfworld": ["textworld"], "dev": ["pytest>=8"]}
    extras = {name: list[str]() for name in install.BASE} | own
    pyproject = {
        "build-system": {"requires": ["setuptools>=77"]},
        "project": {"dependencies": ["numpy>=1"], "optional-dependencies": extras},
    }
    assert base_requirements(pyproject, dev=True) == ["torch>=2", "setuptools>=77", "numpy>=1", "pytest>=8"]


def test_pin_of_torch_is_found_and_removed() -> None:
    constraints = "# pins\ntorch==2.13.0\ntorchlike==1.0\n"
    assert torch_pin(constraints) == "torch==2.13.0"
    assert without_torch(constraints) == "# pins\ntorchlike==1.0\n"
    assert torch_pin(without_torch(constraints)) == "torch"


def test_constraints_pin_every_direct_requirement() -> None:
    pins = {
        install.requirement_name(line)
        for line in (install.ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line and not line.startswith("#")
    }
    with (install.ROOT / "pyproject.toml").open("rb") as stream:
        project = install.tomllib.load(stream)["project"]
    extras = [text for name, texts in project["optional-dependencies"].items() if name != "all" for text in texts]
    required = {install.requirement_name(text) for text in project["dependencies"] + extras}
    assert required - {project["name"]} <= pins  # an extra may hold another one


def test_half_installed_packages_are_dropped(tmp_path: Path) -> None:
    for name in ("a-1.dist-info", "b-2.dist-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "a-1.dist-info" / "RECORD").touch()
    assert drop_half_installed(tmp_path) == ["b-2"]
    assert [path.name for path in tmp_path.iterdir()] == ["a-1.dist-info"]


@pytest.mark.parametrize(
    ("log", "word"),
    [
        ("x NewConnectionError('<...>: Failed to establish a new connection: [Errno -2]')", "network"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: ResolutionImpossible", "pip.log"),
    ],
)
def test_failures_are_explained(log: str, word: str) -> None:
    assert word in failure(log)


def test_pip_is_watched_and_its_failure_is_raised(tmp_path: Path) -> None:
    seen: list[str] = []
    python = fake_pip(tmp_path, 'printf "one\\ntwo\\nhalf" > "$log"\nexit 3\n')
    with pytest.raises(InstallError, match="pip failed"):
        Pip(python, tmp_path / "log").run("install", watch=seen.extend)
    assert seen == ["one", "two"]


def test_cuda_in_the_log_stops_pip_before_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "VENV", tmp_path)
    monkeypatch.setattr(install, "has_nvidia_gpu", lambda: False)
    installer = Installer(Settings())
    python = fake_pip(tmp_path, 'echo "Collecting nvidia-cublas==13" > "$log"\nexec sleep 600\n')
    monkeypatch.setattr(installer, "_pip", Pip(python, tmp_path / "log"))
    with pytest.raises(CudaError, match="nvidia-cublas"):
        installer._add(["torch"], "torch")


@pytest.mark.parametrize(
    ("gpu", "allow", "stopped"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_cuda_in_the_report_stops_only_without_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: bool, allow: bool, stopped: bool
) -> None:
    monkeypatch.setattr(install, "VENV", tmp_path)
    monkeypatch.setattr(install, "has_nvidia_gpu", lambda: gpu)
    (tmp_path / "sample.json").write_text(
        json.dumps({"install": [{"metadata": {"name": "nvidia-cublas", "version": "13.1"}}]})
    )
    body = f'if [ -n "$report" ]; then cp {tmp_path}/sample.json "$report"; else touch {tmp_path}/installed; fi\n'
    installer = Installer(Settings(allow_cuda=allow))
    monkeypatch.setattr(installer, "_pip", Pip(fake_pip(tmp_path, body), tmp_path / "log"))
    with pytest.raises(CudaError, match="ALLOW_CUDA") if stopped else contextlib.nullcontext():
        installer._add(["torch"], "torch")
    assert (tmp_path / "installed").exists() != stopped


def test_folder_that_is_no_environment_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").touch()
    monkeypatch.setattr(install, "VENV", tmp_path)
    with pytest.raises(InstallError, match="no virtual environment"):
        Installer(Settings()).base(dev=False)
    assert (tmp_path / "mine").exists()


def test_extras_are_reported_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "EXTRAS_RECORD", tmp_path / "record")
    found = [
        install.survey({name: [f"{name}-package"]}, {"no-java": (lambda: "no Java",)})[0]
        for name in ("fine", "broken", "no-java")
    ]
    monkeypatch.setattr(install, "survey", lambda declared: found)
    added: list[str] = []

    def add(self: Installer, requirements: tuple[str, ...], what: str) -> None:
        added.append(what)
        if "broken" in what:
            raise InstallError("it does not build")

    monkeypatch.setattr(Installer, "_add", add)
    for _ in range(2):
        Installer(Settings()).extras()
        lines = capsys.readouterr().out.splitlines()
        assert [line.partition("extra ")[2] for line in lines] == [
            "fine: installed",
            "broken: skipped: it does not build",
            "no-java: skipped: no Java",
        ]
    assert added == ["extra fine", "extra broken", "extra broken"]


def test_an_error_and_an_interrupt_are_one_message_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(self: Installer, *, dev: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("TORCH_WHEEL", "/nowhere/torch-1.whl")
    assert install.main(["--dev"]) == 1
    assert "[install] error: TORCH_WHEEL" in capsys.readouterr().err
    monkeypatch.delenv("TORCH_WHEEL")
    monkeypatch.setattr(Installer, "base", interrupted)
    assert install.main([]) == 130
    assert "goes on from here" in capsys.readouterr().err


def test_gpu_is_asked_of_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has an NVIDIA GPU")
    smi = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not has_nvidia_gpu()
    smi.write_text("#!/bin/sh\necho 'GPU 0: something'\n")
    smi.chmod(0o755)
    assert has_nvidia_gpu()
    smi.write_text("#!/bin/sh\necho 'no driver'\nexit 9\n")
    assert not has_nvidia_gpu()


def test_helpers_import_only_the_standard_library() -> None:
    allowed = set(sys.stdlib_module_names) | {"tools"}
    for path in (install.ROOT / "tools").glob("*.py"):
        lines = [line.split() for line in path.read_text().splitlines() if line.startswith(("import ", "from "))]
        assert {words[1].partition(".")[0] for words in lines} <= allowed, path.name
