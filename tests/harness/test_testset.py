from __future__ import annotations

import numpy as np

from harness import testset
from harness.testset import TestSet
from tests.harness.fakes import sum_model

MODEL = sum_model()


def test_questions_are_the_same_however_many_are_prepared_together() -> None:
    n = testset.BLOCK + 3
    X = np.random.default_rng(0).integers(-100, 100, (n, 8)).astype(float)
    encoded, y = MODEL.encode(X), np.arange(n) % 4
    questions = TestSet(MODEL, X, y)
    assert len(questions) == n
    for number in (0, 5, testset.BLOCK - 1, testset.BLOCK, n - 1, 1):
        vector, label, host_class, scores = questions[number]
        assert vector == encoded[number].tobytes()
        assert (label, host_class) == (str(number % 4), str(MODEL.predict(X)[number]))
        assert scores.tolist() == MODEL.scores(encoded)[number].tolist()
