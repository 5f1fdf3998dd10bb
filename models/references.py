"""What compressed models are held against: the same methods without a limit, on the host.

scikit-learn does what it already does; here is only what each needs around it: standardised features where
distances or gradients ask for them, the seed, and a few settings worth trying.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from models.device import Array
from models.lmnn import LMNN
from models.search import Task


class _Reference(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A pipeline behind the interface that every model here has; `model_` is the fitted one."""

    @abstractmethod
    def _pipeline(self, samples: Array) -> Any:
        """What is to be fitted to these samples."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        samples, labels = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError("A classifier needs samples of at least two classes; there is only one class.")
        self.model_ = self._pipeline(samples).fit(samples, labels)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.asarray(self.model_.predict(samples))


class KNNReference(_Reference):
    """k nearest neighbours among all training samples, standardised or as they are."""

    def __init__(self, n_neighbors: int = 1, *, standardize: bool = False) -> None:
        self.n_neighbors = n_neighbors
        self.standardize = standardize

    def _pipeline(self, samples: Array) -> Any:
        neighbours = KNeighborsClassifier(self.n_neighbors)
        return make_pipeline(StandardScaler(), neighbours) if self.standardize else neighbours


class LMNNReference(_Reference):
    """k nearest neighbours behind the linear map that LMNN learns."""

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        n_components: int | None = None,
        epochs: int = 30,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.epochs = epochs
        self.random_state = random_state

    def _pipeline(self, samples: Array) -> Any:
        learnt = LMNN(self.n_components, epochs=self.epochs, random_state=self.random_state)
        return make_pipeline(learnt, KNeighborsClassifier(self.n_neighbors))


class RBFSVMReference(_Reference):
    """A support vector machine with a Gaussian kernel; gamma in units of scikit-learn's "scale"."""

    def __init__(self, C: float = 10.0, *, gamma: float = 1.0, standardize: bool = False) -> None:
        self.C = C
        self.gamma = gamma
        self.standardize = standardize

    def _pipeline(self, samples: Array) -> Any:
        variance = 1.0 if self.standardize else float(np.var(samples, dtype=np.float64)) or 1.0
        machine = SVC(C=self.C, gamma=self.gamma / (samples.shape[1] * variance))
        return make_pipeline(StandardScaler(), machine) if self.standardize else machine


class LinearSVMReference(_Reference):
    """A linear support vector machine, one against the rest."""

    def __init__(self, C: float = 1.0, *, random_state: int | np.random.RandomState | None = None) -> None:
        self.C = C
        self.random_state = random_state

    def _pipeline(self, samples: Array) -> Any:
        machine = LinearSVC(C=self.C, dual=False, random_state=self.random_state)
        return make_pipeline(StandardScaler(), machine)


class BoostedReference(_Reference):
    """Gradient-boosted trees, as many as a validation part of the training data asks for."""

    def __init__(
        self,
        max_leaf_nodes: int = 31,
        *,
        learning_rate: float = 0.1,
        n_rounds: int = 300,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_leaf_nodes = max_leaf_nodes
        self.learning_rate = learning_rate
        self.n_rounds = n_rounds
        self.random_state = random_state

    def _pipeline(self, samples: Array) -> Any:
        return HistGradientBoostingClassifier(
            max_iter=self.n_rounds,
            max_leaf_nodes=self.max_leaf_nodes,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
        )


class NetworkReference(_Reference):
    """A network of one hidden layer."""

    def __init__(
        self,
        hidden: int = 256,
        *,
        alpha: float = 1e-4,
        epochs: int = 60,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden = hidden
        self.alpha = alpha
        self.epochs = epochs
        self.random_state = random_state

    def _pipeline(self, samples: Array) -> Any:
        network = MLPClassifier(
            (self.hidden,),
            alpha=self.alpha,
            max_iter=self.epochs,
            n_iter_no_change=self.epochs,
            random_state=self.random_state,
        )
        return make_pipeline(StandardScaler(), network)


def knn_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return [{"n_neighbors": k, "standardize": s} for k in (1, 3, 5) for s in (False, True)]


def lmnn_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    epochs = {"fast": 10, "normal": 30, "best": 60}[effort]
    components = min(task.n_features, 150)
    return [{"n_neighbors": k, "n_components": components, "epochs": epochs} for k in (1, 3)]


def rbf_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    settings = ((10.0, 1.0), (10.0, 2.0), (100.0, 1.0), (3.0, 0.5))
    return [{"C": C, "gamma": g, "standardize": s} for C, g in settings for s in (False, True)]


def linear_svm_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return [{"C": C} for C in (0.01, 0.1, 1.0)]


def boosted_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    return [{"max_leaf_nodes": n, "learning_rate": r} for n, r in ((31, 0.1), (15, 0.1), (31, 0.05))]


def network_candidates(task: Task, budget: int, effort: str) -> list[dict[str, Any]]:
    epochs = {"fast": 30, "normal": 60, "best": 120}[effort]
    return [{"hidden": h, "alpha": a, "epochs": epochs} for h in (256, 64) for a in (1e-4, 1e-1)]
