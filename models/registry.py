"""Every model by name. A new family is one line: its estimator, and the function that proposes its shapes.

An estimator follows scikit-learn and has `to_device(numbers)` (references that only run on the host have
none). The function is `candidates(task, budget, effort)`: parameter sets worth trying, best guess first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from models.errors import UnknownName

if TYPE_CHECKING:
    from models.search import Task

Candidates = Callable[["Task", int, str], list[dict[str, Any]]]


@dataclass(frozen=True)
class Family:
    """Both as "module:name", imported only when used."""

    estimator: str
    candidates: str


FAMILIES: dict[str, Family] = {
    "bnc": Family("models.bnc:BNCClassifier", "models.bnc:candidates"),
    "bonsai": Family("models.bonsai:BonsaiClassifier", "models.bonsai_search:candidates"),
    "ldkl": Family("models.ldkl:LDKLClassifier", "models.ldkl:candidates"),
    "ldkl-l1": Family("models.ldkl:LDKLClassifier", "models.ldkl:candidates_l1"),
    "linear": Family("models.linear:L1LogisticClassifier", "models.linear:candidates"),
    "mlp": Family("models.mlp:PrunedMLPClassifier", "models.mlp:candidates"),
    "protonn": Family("models.protonn:ProtoNNClassifier", "models.protonn_search:candidates"),
    "snc": Family("models.snc:SNCClassifier", "models.snc:candidates"),
    "npc-e": Family("models.npc:NPCClassifier", "models.npc:exponential_candidates"),
    "npc-h": Family("models.npc:NPCClassifier", "models.npc:hinge_candidates"),
    "kmeans": Family("models.prototypes:KMeansPrototypes", "models.prototypes:kmeans_candidates"),
    "sampled": Family("models.prototypes:SampledPrototypes", "models.prototypes:sampled_candidates"),
    "cnn": Family("models.prototypes:CondensedPrototypes", "models.prototypes:cnn_candidates"),
    "fcnn": Family("models.prototypes:CondensedPrototypes", "models.prototypes:fcnn_candidates"),
    "tree": Family("models.trees:PrunedTreeClassifier", "models.trees:tree_candidates"),
    "forest": Family("models.trees:ForestClassifier", "models.trees:forest_candidates"),
    "jungle": Family("models.jungle:JungleClassifier", "models.jungle:candidates"),
    "budget-rf": Family(
        "models.budgeted_forests:BudgetRFClassifier", "models.budgeted_forests:rf_candidates"
    ),
    "budget-prune": Family(
        "models.budgeted_forests:BudgetPruneClassifier", "models.budgeted_forests:prune_candidates"
    ),
    "gbdt": Family("models.trees:BoostedTreesClassifier", "models.trees:boosted_candidates"),
    "gbdt-pruned": Family(
        "models.boosted_pruning:PrunedBoostedClassifier", "models.boosted_pruning:candidates"
    ),
    "knn": Family("models.references:KNNReference", "models.references:knn_candidates"),
    "lmnn-knn": Family("models.references:LMNNReference", "models.references:lmnn_candidates"),
    "svm-rbf": Family("models.references:RBFSVMReference", "models.references:rbf_candidates"),
    "svm-linear": Family("models.references:LinearSVMReference", "models.references:linear_svm_candidates"),
    "gbdt-full": Family("models.references:BoostedReference", "models.references:boosted_candidates"),
    "network": Family("models.references:NetworkReference", "models.references:network_candidates"),
}


def names() -> list[str]:
    return list(FAMILIES)


def estimator(name: str) -> type[Any]:
    """The estimator class of a model; UnknownName suggests the nearest."""
    found: type[Any] = _imported(_family(name).estimator)
    return found


def candidates(name: str) -> Candidates:
    found: Candidates = _imported(_family(name).candidates)
    return found


def modules(name: str) -> tuple[str, str]:
    """Where a model's estimator and its candidates are."""
    family = _family(name)
    return family.estimator.partition(":")[0], family.candidates.partition(":")[0]


def _family(name: str) -> Family:
    if name not in FAMILIES:
        raise UnknownName("model", name, FAMILIES)
    return FAMILIES[name]


def _imported(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(module), name)
