"""Utilisation, power and memory of a GPU: from a fake of the driver's library, and from the driver
itself."""

import os
import subprocess
import sys

import pytest
import torch

from zerofleet.errors import Unsupported
from zerofleet.infer.devices import open_gauge, open_gauges

DRIVER = """
#include <stdlib.h>
#include <string.h>
struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
static int started, device;
int nvmlInitWithFlags(unsigned flags) { started = 1; return 0; }
int nvmlDeviceGetHandleByUUID(const char* id, void** handle) {
    if (!started || strcmp(id, "GPU-1-2") != 0) return 6;
    *handle = &device;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void* handle, struct utilization* out) {
    out->gpu = 97;
    out->memory = 12;
    return handle != &device;
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
    *milliwatts = 612500;
    return handle != &device ? 1 : getenv("HIDES_POWER") ? 3 : 0;
}
int nvmlDeviceGetMemoryInfo(void* handle, struct memory* out) {
    out->total = 150ull << 30;
    out->free = 130ull << 30;
    out->used = 20ull << 30;
    return handle != &device;
}
"""

READS = """
import os
from zerofleet.errors import Unsupported
from zerofleet.infer.devices import open_gauge
gauge = open_gauge("GPU-1-2")
figures = gauge.read()
print(repr(figures))
print(figures)
os.environ["HIDES_POWER"] = "1"
print(gauge.read())
try:
    open_gauge("GPU-1-3")
except Unsupported as fault:
    print(fault)
"""


def test_figures_are_those_that_the_driver_reports_for_the_gpu_of_that_uuid(tmp_path):
    pytest.importorskip("pynvml")
    source, library = tmp_path / "driver.c", tmp_path / "libnvidia-ml.so.1"
    source.write_text(DRIVER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    ran = subprocess.run(
        [sys.executable, "-c", READS],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == [
        f"GpuFigures(busy_share=0.97, watts=612.5, used_bytes={20 << 30}, total_bytes={150 << 30})",
        "97% busy, 612 W, 20 of 150 GiB used",
        "None",
        "NVML has no GPU-1-3: Not Found",
    ]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA GPU here")
def test_without_the_driver_the_message_says_that_nvml_is_missing():
    pytest.importorskip("pynvml")
    with pytest.raises(Unsupported, match="NVML has no GPU-1-2: NVML Shared Library Not Found"):
        open_gauge("GPU-1-2")


def test_without_its_package_there_are_no_figures_and_one_line_says_how_to_get_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda device: GpuOfTorch)
    said = []
    assert open_gauges(["cuda:0", "cpu", "cuda:1"], said.append) == []
    (line,) = said
    assert line.startswith("no GPU utilisation, power or memory in the metrics: ")
    assert line.endswith("; pip install 'zerofleet[gpu]'")


class GpuOfTorch:
    uuid = "1-2"


def test_a_run_on_the_cpu_needs_no_figures_and_says_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    said = []
    assert open_gauges(["cpu"], said.append) == said == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here")
def test_a_real_gpu_has_the_memory_that_torch_finds_in_it():
    pytest.importorskip("pynvml")
    said = []
    (gauge,) = open_gauges(["cuda", "cpu", "cuda:0"], said.append)
    figures = gauge.read()
    assert figures is not None
    assert said == []
    assert figures.total_bytes == pytest.approx(
        torch.cuda.get_device_properties("cuda").total_memory, rel=0.05
    )
    assert 0 < figures.used_bytes < figures.total_bytes
    assert 5 < figures.watts < 2000
    assert 0 <= figures.busy_share <= 1
