"""A GPU's figures: from a library that has the driver's functions, and from the driver itself."""

import subprocess

import pytest
import torch

from zerofleet.infer.nvml import GpuFigures, gauge_of, open_gauges

DRIVER = """
#include <string.h>
struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
static int started, device;
int nvmlInit_v2(void) { started = 1; return 0; }
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
    return handle == &device ? POWER_FAULT : 1;
}
int nvmlDeviceGetMemoryInfo(void* handle, struct memory* out) {
    out->total = 150ull << 30;
    out->free = 130ull << 30;
    out->used = 20ull << 30;
    return handle != &device;
}
"""


def driver(folder, power_fault):
    source, library = folder / "driver.c", folder / f"driver-{power_fault}.so"
    source.write_text(DRIVER)
    define = f"-DPOWER_FAULT={power_fault}"
    subprocess.run(["cc", "-shared", "-fPIC", define, "-o", library, source], check=True)
    return str(library)


def test_figures_are_those_of_the_driver_for_the_gpu_of_that_id(tmp_path):
    library = driver(tmp_path, power_fault=0)
    gauge = gauge_of("GPU-1-2", library)
    assert gauge is not None
    assert gauge.read() == GpuFigures(0.97, 612.5, 20 << 30, 150 << 30)
    assert gauge_of("GPU-1-3", library) is None


def test_a_gpu_whose_driver_does_not_tell_has_no_figures(tmp_path):
    gauge = gauge_of("GPU-1-2", driver(tmp_path, power_fault=3))
    assert gauge is not None
    assert gauge.read() is None


def test_without_the_drivers_library_or_a_gpu_there_is_no_gauge(tmp_path):
    assert gauge_of("GPU-1-2", str(tmp_path / "none.so")) is None
    assert open_gauges(["cpu"]) == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here")
def test_a_real_gpu_has_the_memory_that_torch_finds_in_it():
    (gauge,) = open_gauges(["cuda", "cpu", "cuda:0"])
    figures = gauge.read()
    assert figures is not None
    assert figures.total_bytes == pytest.approx(
        torch.cuda.get_device_properties("cuda").total_memory, rel=0.05
    )
    assert 0 < figures.used_bytes < figures.total_bytes
    assert 5 < figures.watts < 2000
    assert 0 <= figures.busy_share <= 1
