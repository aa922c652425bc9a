"""Finds CUDA packages in what pip is about to install, and describes how to get a CPU build instead."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CUDA_NAME = re.compile(r"nvidia-|cuda-|triton$|pytorch-triton")
NOT_CUDA = frozenset({"nvidia-ml-py"})
"""Packages with a CUDA-like name that are small, pure Python and harmless without a GPU."""

COLLECTING = re.compile(r"\bCollecting ([A-Za-z0-9][A-Za-z0-9._-]*)")


def normalized(name: str) -> str:
    """The name of a distribution as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_cuda(name: str, version: str = "") -> bool:
    """Whether this distribution belongs to a CUDA installation.

    That is one with a CUDA name, and any (torch above all) whose local version is ``+cu`` and a number.
    """
    name = normalized(name)
    if name in NOT_CUDA:
        return False
    return CUDA_NAME.match(name) is not None or re.search(r"\+cu\d", version) is not None


def cuda_packages(report: Mapping[str, Any]) -> list[str]:
    """The CUDA packages in a report of ``pip install --report``, as sorted ``name==version``."""
    found = []
    for item in report.get("install", []):
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        if is_cuda(name, version):
            found.append(f"{normalized(name)}=={version}")
    return sorted(found)


def collected_cuda(lines: Iterable[str]) -> list[str]:
    """The CUDA packages among the ``Collecting`` lines of a pip log.

    An older pip downloads whole packages in its dry run; its log names them before gigabytes have come.
    """
    names = (match[1] for line in lines if (match := COLLECTING.search(line)))
    return sorted({normalized(name) for name in names if is_cuda(name)})


def has_nvidia_gpu() -> bool:
    """Whether an NVIDIA GPU can be used here: its device exists or ``nvidia-smi`` lists one."""
    if Path("/dev/nvidia0").exists():
        return True
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return False
    try:
        answer = subprocess.run([smi, "-L"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and "GPU " in answer.stdout


def advice(packages: list[str], pin: str) -> str:
    """The message when CUDA packages would come on a machine without a GPU.

    Args:
        packages: The CUDA packages that were seen.
        pin: The requirement on torch, such as ``torch==2.13.0``.
    """
    shown = ", ".join(packages[:4]) + (", ..." if len(packages) > 4 else "")
    return f"""pip would install CUDA packages ({shown}), several gigabytes, but no NVIDIA GPU was found here.
None of them was installed. Supply a CPU build of {pin} in one of these ways and run make again:
  - an index of CPU builds (the installation page of PyTorch names it, under "CPU"):
        make TORCH_INDEX_URL=<index> ...
  - a wheel file:
        make TORCH_WHEEL=/path/to/torch-....whl ...
  - pip's own settings: find-links or extra-index-url (see "pip config"), or the variable
        PIP_FIND_LINKS=<folder or page with the wheel>
Or take the CUDA build all the same:
        make ALLOW_CUDA=1 ..."""
