"""What counts as a CUDA package, and what the advice names."""

from typing import Any

import pytest

from tools.cuda import advice, collected_cuda, cuda_packages, is_cuda


def report(**versions: str) -> dict[str, Any]:
    return {
        "version": "1",
        "install": [{"metadata": {"name": name, "version": version}} for name, version in versions.items()],
    }


@pytest.mark.parametrize(
    ("name", "version", "cuda"),
    [
        ("nvidia-cublas", "13.1", True), ("nvidia_cudnn_cu13", "9.20.0.48", True),
        ("cuda-toolkit", "13.0.3", True), ("triton", "3.7", True), ("torch", "2.13.0+cu130", True),
        ("torch", "2.13.0+cpu", False), ("torch", "2.13.0", False), ("nvidia-ml-py", "13.0", False),
        ("tritonclient", "2.0", False),
    ],
)  # fmt: skip
def test_cuda_packages_are_found_and_no_others(name: str, version: str, cuda: bool) -> None:
    assert is_cuda(name, version) == cuda


def test_report_lists_cuda_packages_by_name_and_version() -> None:
    sample = report(torch="2.13.0", nvidia_nccl_cu13="2.29.7", **{"cuda-toolkit": "13.0.3"}, numpy="2.4.6")
    assert cuda_packages(sample) == ["cuda-toolkit==13.0.3", "nvidia-nccl-cu13==2.29.7"]
    assert cuda_packages(report(torch="2.13.0+cpu", numpy="2.4.6")) == []


def test_collecting_lines_of_the_log_are_read() -> None:
    lines = [
        "2026-01-01T00:00:00,000 Collecting torch==2.13.0",
        "2026-01-01T00:00:01,000 Collecting cuda-toolkit[cublas,cudart]==13.0.3 (from torch==2.13.0)",
        "2026-01-01T00:00:02,000   Found link nvidia_cudnn_cu13-9.20.0.48-py3-none-any.whl",
        "2026-01-01T00:00:03,000 Collecting nvidia_nccl_cu13==2.29.7 (from torch==2.13.0)",
    ]
    assert collected_cuda(lines) == ["cuda-toolkit", "nvidia-nccl-cu13"]


def test_advice_names_every_way_out() -> None:
    text = advice([f"nvidia-{number}" for number in range(9)], "torch==2.13.0")
    for word in ("TORCH_INDEX_URL", "TORCH_WHEEL", "PIP_FIND_LINKS", "ALLOW_CUDA=1", "torch==2.13.0", "nvidia-0"):
        assert word in text
    assert "nvidia-8" not in text
