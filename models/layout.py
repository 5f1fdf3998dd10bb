"""Layout: one way to store a matrix in flash. models.encoding has those that every matrix can have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from models.inputs import Array


class Layout(ABC):
    """One way to store a matrix of one kind of numbers."""

    name: ClassVar[str]
    """What the switch in model.h is called: dense8 gives MODEL_W_DENSE8."""
    dtype: ClassVar[np.dtype[np.generic]]
    """The numbers it stores."""
    parts: ClassVar[tuple[str, ...]]
    """What follows the matrix's name in the names of its arrays."""

    @classmethod
    @abstractmethod
    def size(cls, matrix: Array) -> int:
        """The bytes it would take."""

    @classmethod
    @abstractmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        """Its arrays, by part."""

    @classmethod
    @abstractmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        """The matrix again. InputError if the arrays are not what encode can make."""

    @classmethod
    def suits(cls, matrix: Array) -> bool:
        """Whether it can store this one."""
        return True

    @classmethod
    def switches(cls, arrays: Mapping[str, Array]) -> dict[str, int]:
        """What else the kernel must know to read them."""
        return {}
