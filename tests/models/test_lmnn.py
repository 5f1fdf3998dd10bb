from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import lmnn
from models.device import Array
from models.lmnn import LMNN
from tests.models.gradients import check_gradients


@parametrize_with_checks([LMNN(epochs=5)])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def noisy_classes(seed: int = 0, samples: int = 600) -> tuple[Array, Array]:
    """Two features that matter, in between ten that do not and are larger."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=samples)
    angle = 2 * np.pi * y / 3
    signal = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(samples, 2)) * 0.25
    return np.column_stack([signal, rng.normal(size=(samples, 10)) * 1.5]), y


def test_the_gradient_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    x, L = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    batch = np.arange(5)
    targets, impostors = rng.integers(5, 20, size=(5, 2)), rng.integers(5, 20, size=(5, 3))
    _, gradient = lmnn.loss_gradient(L, x, batch, targets, impostors)
    check_gradients(lambda: lmnn.loss_gradient(L, x, batch, targets, impostors)[0], {"L": L}, {"L": gradient})


@pytest.mark.parametrize("components", [None, 3])
def test_neighbours_get_better(components: int | None) -> None:
    X, y = noisy_classes()
    X_test, y_test = noisy_classes(1)
    plain = KNeighborsClassifier(3).fit(X, y).score(X_test, y_test)
    mapping = LMNN(components, random_state=0).fit(X, y)
    learnt = KNeighborsClassifier(3).fit(mapping.transform(X), y).score(mapping.transform(X_test), y_test)
    assert mapping.components_.shape == (components or 12, 12)
    assert learnt > plain + 0.1


def test_a_seed_gives_one_map() -> None:
    X, y = noisy_classes()
    one, two = (LMNN(epochs=3, random_state=5).fit(X, y).components_ for _ in range(2))
    assert np.array_equal(one, two)


def test_an_interrupt_keeps_the_map_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    gradient = lmnn.loss_gradient

    def interrupted(*args: Any) -> tuple[float, Array]:
        nonlocal calls
        calls += 1
        if calls > 5:
            raise KeyboardInterrupt
        return gradient(*args)

    monkeypatch.setattr(lmnn, "loss_gradient", interrupted)
    X, y = noisy_classes()
    found = LMNN(random_state=0).fit(X, y).components_
    assert calls == 6
    assert np.isfinite(found).all()
