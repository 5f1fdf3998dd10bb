from __future__ import annotations

from itertools import pairwise

import numpy as np

from models.conjugate import minimise
from models.device import Array


def rosenbrock(p: Array) -> tuple[float, Array]:
    x, y = p
    value = (1 - x) ** 2 + 100 * (y - x * x) ** 2
    return float(value), np.array([-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])


def test_it_finds_the_bottom_of_a_curved_valley() -> None:
    found = minimise(rosenbrock, np.array([-1.2, 1.0]), iterations=500, tolerance=1e-14)
    assert np.allclose(found.point, [1.0, 1.0], atol=1e-3)


def test_a_quadratic_takes_as_many_iterations_as_it_has_dimensions_or_few_more() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 8))
    H = A @ A.T + np.eye(8)
    b = rng.normal(size=8)
    found = minimise(
        lambda p: (float(0.5 * p @ H @ p - b @ p), H @ p - b), np.zeros(8), iterations=40, tolerance=0
    )
    assert np.allclose(found.point, np.linalg.solve(H, b), atol=1e-4)


def test_few_evaluations_an_iteration() -> None:
    found = minimise(rosenbrock, np.array([-1.2, 1.0]), iterations=30, tolerance=0)
    assert found.evaluations < 4 * found.iterations


def test_single_precision_stays_single() -> None:
    found = minimise(lambda p: (float((p**2).sum()), 2 * p), np.ones(3, dtype=np.float32))
    assert found.point.dtype == np.float32
    assert np.abs(found.point).max() < 1e-3


def test_a_stationary_start_is_the_answer() -> None:
    found = minimise(lambda p: (1.0, np.zeros_like(p)), np.ones(3))
    assert found.iterations == 0
    assert np.array_equal(found.point, np.ones(3))


def test_an_infinite_value_is_stepped_back_from() -> None:
    def barrier(p: Array) -> tuple[float, Array]:
        if p[0] <= 0:
            return float("inf"), np.zeros(1)
        return float(p[0] - np.log(p[0])), 1 - 1 / p

    assert abs(minimise(barrier, np.array([5.0]), tolerance=1e-12).point[0] - 1.0) < 1e-3


def test_an_interrupt_keeps_the_lowest_point_so_far() -> None:
    calls = 0

    def objective(p: Array) -> tuple[float, Array]:
        nonlocal calls
        calls += 1
        if calls == 12:
            raise KeyboardInterrupt
        return rosenbrock(p)

    start = np.array([-1.2, 1.0])
    found = minimise(objective, start, iterations=500, tolerance=1e-14)
    assert found.interrupted
    assert found.value == rosenbrock(found.point)[0] < rosenbrock(start)[0]


def test_after_hears_of_falling_values() -> None:
    values: list[float] = []
    minimise(rosenbrock, np.array([-1.2, 1.0]), iterations=20, after=lambda _, value: values.append(value))
    assert len(values) == 20
    assert all(b <= a for a, b in pairwise(values))
