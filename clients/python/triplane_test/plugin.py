"""The plugin of pytest: the fixtures triplane and triplane_server, and the option --triplane-binary."""

import pytest

import triplane_test


def pytest_addoption(parser):
    parser.addoption("--triplane-binary", help="the program triplane; by default $TRIPLANE_BINARY or that in the PATH")
    parser.addini("triplane_args", "flags of triplane test", type="args", default=[])


@pytest.fixture(scope="session")
def triplane_server(pytestconfig):
    """A server that all tests share. It is not reset."""
    with triplane_test.start(pytestconfig.getoption("triplane_binary"), pytestconfig.getini("triplane_args")) as server:
        yield server


@pytest.fixture
def triplane(triplane_server):
    """The shared server, with the objects of its start."""
    triplane_server.reset()
    return triplane_server
