"""Laps of the search: a test draws its examples anew in each, and forgets them, which would fill the memory."""

LAPS = 3


def pytest_generate_tests(metafunc):
    """Run each test that draws examples in laps."""
    if hasattr(metafunc.function, "hypothesis"):
        metafunc.fixturenames.append("lap")
        metafunc.parametrize("lap", range(LAPS))
