"""L1-regularised logistic regression: the smallest classifier that is worth comparing with.

scikit-learn fits it on the integers the device is sent. The L1 penalty makes weights zero; where the byte
budget asks for more zeros, the weights that move the scores least are dropped, and the others are fitted
again without them. The step of the int8 weights is the one that predicts the training data best.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models import encoding
from models.device import Array, DeviceModel, InputScale, paper_bytes
from models.errors import BudgetError, InputError
from models.linear_device import LinearFloat, LinearInt8
from models.optim import largest
from models.search import Task

STEPS = np.linspace(0.5, 1.0, 26)
"""Int8 steps that are tried, as parts of the one that just covers the largest weight."""
CALIBRATION = 20_000
"""Training samples that decide on the step."""
SELECTION = 8_000
"""Training samples that decide which weights are zero, where the rest is fitted again to all of them."""


class L1LogisticClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression with an L1 penalty, for int8 firmware.

    Parameters
    ----------
    C : inverse strength of the penalty, as in scikit-learn.
    budget : largest flash size of the int8 model in bytes; None for no limit.
    max_iter : passes over the data at most.
    random_state : seed of the solver's shuffling.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        budget: int | None = None,
        max_iter: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.budget = budget
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> L1LogisticClassifier:
        samples, given = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "Logistic regression needs samples of at least two classes; there is only one class."
            )
        self.inputs_ = InputScale.for_data(samples, "int8")
        encoded = self.inputs_.encode(samples).astype(np.float64)
        unit = 1.0 / max(float(encoded.std()), 1e-6)
        # Around their mean the solvers need a fraction of the steps.
        middle = encoded.mean(axis=0)
        W, bias = self._sparse((encoded - middle) * unit, labels)
        self.coef_ = W * unit
        self.intercept_ = bias - self.coef_ @ middle
        self._quantize(encoded[:CALIBRATION], labels[:CALIBRATION])
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores of the float model."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        x = (samples - self.inputs_.offset) / self.inputs_.step
        found = np.asarray(x @ self.coef_.T + self.intercept_)
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: npt.ArrayLike) -> Array:
        """Labels by the float model; the device's own are `to_device().predict(X)`."""
        found = self.decision_function(X)
        chosen = (found > 0).astype(int) if len(self.classes_) == 2 else found.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def to_device(self, numbers: str = "int8") -> DeviceModel:
        """The fitted model for firmware: int8 or float32."""
        check_is_fitted(self)
        size = paper_bytes(self.coef_, self.intercept_)
        if numbers == "int8":
            return LinearInt8.from_integers(
                self._integers[0], self._integers[1], self.inputs_, self.classes_, paper_bytes=size
            )
        if numbers == "float32":
            # Float firmware is sent features within ±1 where the integers had ±limit.
            W = self.coef_ * self.inputs_.limit
            return LinearFloat.from_floats(
                W, self.intercept_, self.inputs_.float32(), self.classes_, paper_bytes=size
            )
        raise InputError(f"Linear models have no firmware for {numbers}.", "Choose int8 or float32.")

    def _sparse(self, x: Array, labels: Array) -> tuple[Array, Array]:
        """Weights and biases within the budget."""
        chosen = np.arange(len(x))
        if len(x) > SELECTION:
            chosen = check_random_state(self.random_state).permutation(len(x))[:SELECTION]
        W, bias = self._solve(x[chosen], labels[chosen], self.C * len(x) / len(chosen))
        kept = _within(W, np.abs(W) * x.std(axis=0), self.budget)
        if len(chosen) < len(x) or (W[~kept] != 0).any():
            return _refitted(x, labels, (W, bias, kept), self.C, self.max_iter)
        return W, bias

    def _solve(self, x: Array, labels: Array, C: float) -> tuple[Array, Array]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        two = len(self.classes_) == 2
        solver = LogisticRegression(
            C=C,
            l1_ratio=1.0,
            solver="liblinear" if two else "saga",
            max_iter=self.max_iter,
            tol=1e-3,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # The last digits of the weights are below the int8 step anyway.
            warnings.simplefilter("ignore", ConvergenceWarning)
            solver.fit(x, labels)
        self.n_iter_ = int(np.max(solver.n_iter_))
        return solver.coef_, solver.intercept_

    def _quantize(self, encoded: Array, labels: Array) -> None:
        # The second term keeps a bias within 32 bits where the penalty left hardly any weights.
        top = max(float(np.abs(self.coef_).max()), float(np.abs(self.intercept_).max()) / 2**20, 1e-9)
        best = -1.0
        for part in STEPS[::-1]:
            step = part * top / 127
            W = np.clip(np.rint(self.coef_ / step), -127, 127).astype(np.int64)
            bias = np.rint(self.intercept_ / step).astype(np.int64)
            found = encoded @ W.T + bias
            chosen = (found[:, 0] > 0) if len(self.classes_) == 2 else found.argmax(axis=1)
            accuracy = float(np.mean(chosen == labels))
            if accuracy > best:
                best, self._integers = accuracy, (W, bias)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_integers")


def candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    """Penalties around the usual, likeliest first; small data and small budgets want strong ones."""
    iterations = {"fast": 30, "normal": 100, "best": 300}[effort]
    return [
        {"C": C, "budget": budget, "max_iter": iterations}
        for C in (0.3, 0.1, 1.0, 0.03, 3.0, 0.01, 10.0, 0.003)
    ]


def _within(W: Array, importance: Array, budget: int | None) -> npt.NDArray[np.bool_]:
    """Mask of the most important weights that fit into the budget."""
    kept = int(np.count_nonzero(W))
    ones = np.ones(W.shape, dtype=int)
    if budget is None or LinearInt8.flash_size(ones * (W != 0)) <= budget:
        return np.asarray(W != 0)
    spare = budget - 4 * W.shape[0]
    low, high = 0, kept
    while low < high:
        middle = (low + high + 1) // 2
        if encoding.best_bytes(ones * largest(importance, middle)) <= spare:
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise BudgetError(f"No linear model of this shape fits into {budget} bytes.", "Allow more bytes.")
    return largest(importance, low)


def _refitted(
    x: Array,
    labels: Array,
    start: tuple[Array, Array, npt.NDArray[np.bool_]],
    C: float,
    max_iter: int,
) -> tuple[Array, Array]:
    """The logistic loss of all samples at its least in the kept weights, which L2 holds together.

    What the dropped weights had carried would be missing otherwise: pixels beside one another share a weight.
    """
    from scipy.optimize import minimize

    W, bias, kept = start
    used = kept.any(axis=0)
    seen = np.ascontiguousarray(x[:, used], dtype=np.float32)
    among = kept[:, used]
    rows = len(W)
    truth = labels[:, None] if rows == 1 else np.eye(rows)[labels]

    def loss(values: Array) -> tuple[float, Array]:
        weights = np.zeros(among.shape)
        weights[among] = values[:-rows]
        scores = (seen @ weights.T.astype(np.float32)).astype(np.float64) + values[-rows:]
        if rows == 1:
            each, likely = np.logaddexp(0, scores) - truth * scores, expit(scores)
        else:
            each, likely = logsumexp(scores, axis=1) - (truth * scores).sum(axis=1), softmax(scores, axis=1)
        error = C * (likely - truth)
        slope = (error.T.astype(np.float32) @ seen).astype(np.float64) + weights
        total = C * float(each.sum()) + 0.5 * float(np.sum(weights**2))
        return total, np.concatenate([slope[among], error.sum(axis=0)])

    first = np.concatenate([W[kept], bias])
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": max_iter}).x
    refitted = np.zeros(W.shape)
    refitted[kept] = found[:-rows]
    return refitted, found[-rows:]
