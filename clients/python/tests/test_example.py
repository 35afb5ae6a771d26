"""Tests that share a server, which is reset before each test."""

import statistics
import time

import pytest

import triplane_test

MAPS = "/api/v1/namespaces/default/configmaps"
SETTINGS = {"metadata": {"name": "settings"}, "data": {"color": "blue"}}


def test_an_object_is_created(triplane):
    triplane.request("POST", MAPS, SETTINGS)
    assert triplane.request("GET", f"{MAPS}/settings")["data"] == {"color": "blue"}


def test_the_next_test_begins_without_it(triplane):
    with pytest.raises(triplane_test.APIError) as error:
        triplane.request("GET", f"{MAPS}/settings")
    assert error.value.status == 404
    triplane.request("POST", MAPS, SETTINGS)


def test_a_checkpoint_has_the_objects_of_its_time(triplane):
    triplane.request("POST", MAPS, SETTINGS)
    saved = triplane.checkpoint()
    triplane.request("DELETE", f"{MAPS}/settings")
    triplane.reset(saved["id"])
    assert triplane.request("GET", f"{MAPS}/settings")["data"] == {"color": "blue"}


def test_start_and_reset_are_fast(pytestconfig):
    begun = time.perf_counter()
    with triplane_test.start(pytestconfig.getoption("triplane_binary")) as server:
        started = time.perf_counter() - begun
        times = []
        for _ in range(20):
            server.request("POST", MAPS, SETTINGS)
            before = time.perf_counter()
            server.reset()
            times.append(time.perf_counter() - before)
    reset = statistics.median(times)
    print(f"measured: start {started * 1000:.0f} ms, reset {reset * 1000:.1f} ms")
    assert started < 10 and reset < 0.5


def test_a_program_that_does_not_start_is_an_error():
    with pytest.raises(RuntimeError, match="no-such-flag"):
        triplane_test.start(args=["--no-such-flag"])
    with pytest.raises(FileNotFoundError):
        triplane_test.start("/no/such/program")
