"""A matrix as straight-line AVR code: every non-zero weight is an immediate of its own instruction.

Nothing is read from flash and nothing is counted: 9 cycles a weight where a stored pair takes 17, at 14 bytes
a weight; 7 cycles and 10 bytes where no row's sum can leave 16 bits. The words are machine code that the
kernel calls (firmware/lib/kernels/avr_code.h says what is in which register); they hold no address, so that
they can lie anywhere, and the weights can be read from them again, here and by the C for other processors. A
weight is seven words, or five without those in brackets,

    ldd r22, Y+q    ldi r23, weight    muls r22, r23
    [sbc r21, r21]    add r18, r0    adc r19, r1    [adc r20, r21]

Y is a feature's address and moves on by adiw where q ends; a row ends with icall, which stores its sum, and
after the last row stands ret.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from models.errors import InputError
from models.inputs import Array
from models.layout import Layout

REACH = 63
"""The largest q of ldd, and the largest step of adiw."""
MOST = {2: 2**15 // 128, 3: 2**23 // 128}
"""The sum of a row's magnitudes must stay below, or its sum would not fit into so many bytes."""

LDD, LDI, ADIW = 0x8168, 0xE070, 0x9620
LDD_MASK, LDI_MASK, ADIW_MASK = 0xD3F8, 0xF0F0, 0xFF30
REST_OF_TERM = {2: (0x0267, 0x0D20, 0x1D31), 3: (0x0267, 0x0B55, 0x0D20, 0x1D31, 0x1F45)}
"""muls r22, r23 and what follows it, by the bytes of the sum."""
ICALL, RET = 0x9509, 0x9508


class Code8(Layout):
    name = "code8"
    dtype = np.dtype(np.int8)
    parts = ("_code",)

    @classmethod
    def suits(cls, matrix: Array) -> bool:
        """Whether no row can leave 24 bits."""
        return _worst(matrix) < MOST[3]

    @classmethod
    def size(cls, matrix: Array) -> int:
        term = 2 + len(REST_OF_TERM[_sum_bytes(matrix)])
        words = term * int(np.count_nonzero(matrix)) + len(matrix) + 1
        return 2 * (words + sum(len(_steps(np.flatnonzero(row))) for row in matrix))

    @classmethod
    def encode(cls, matrix: Array) -> dict[str, Array]:
        if not cls.suits(matrix):
            raise InputError("A row's sum can leave the 24 bits that straight-line code has for it.")
        rest = REST_OF_TERM[_sum_bytes(matrix)]
        words: list[int] = []
        for row in matrix.astype(np.int64):
            columns = np.flatnonzero(row)
            steps = _steps(columns)
            at = 0
            for column in columns.tolist():
                while column - at > REACH:
                    step = steps.pop(0)
                    words.append(_adiw(step))
                    at += step
                words += [_ldd(column - at), _ldi(int(row[column])), *rest]
            words.append(ICALL)
        return {"_code": np.array([*words, RET], dtype="<u2")}

    @classmethod
    def decode(cls, arrays: Mapping[str, Array], columns: int) -> Array:
        code = arrays["_code"]
        if code.ndim != 1 or code.dtype != np.dtype("<u2") or code.size == 0 or int(code[-1]) != RET:
            raise InputError(f"The code is {code.dtype} of shape {code.shape}, not words that end with ret.")
        rows: list[Array] = []
        row, at, column = np.zeros(columns, dtype=np.int8), 0, -1
        for number, word in enumerate(code[:-1].tolist()):
            if word & LDD_MASK == LDD & LDD_MASK and _is_term(code, number):
                column = at + _offset(word)
                if column >= columns:
                    raise InputError(f"The code reads feature {column} of {columns}.")
                row[column] = _immediate(int(code[number + 1]))
            elif word & ADIW_MASK == ADIW:
                at += (word >> 2 & 0x30) | (word & 0x0F)
            elif word == ICALL:
                rows.append(row)
                row, at = np.zeros(columns, dtype=np.int8), 0
        matrix = np.array(rows, dtype=np.int8).reshape(-1, columns)
        if not np.array_equal(cls.encode(matrix)["_code"], code):
            raise InputError("The code is not what a matrix is made into.")
        return matrix

    @classmethod
    def switches(cls, arrays: Mapping[str, Array]) -> dict[str, int]:
        return {"code_bytes": code_bytes(arrays["_code"])}


def code_bytes(code: Array) -> int:
    """Of a row's sum in the code."""
    return 3 if REST_OF_TERM[3][-1] in code else 2


def _worst(matrix: Array) -> int:
    return int(np.abs(matrix.astype(np.int64)).sum(axis=1).max())


def _sum_bytes(matrix: Array) -> int:
    return 2 if _worst(matrix) < MOST[2] else 3


def _steps(columns: Array) -> list[int]:
    """How far Y moves on before the columns that ldd cannot reach."""
    steps, at = [], 0
    for column in columns.tolist():
        while column - at > REACH:
            steps.append(min(REACH, column - at))
            at += steps[-1]
    return steps


def _ldd(offset: int) -> int:
    return LDD | (offset & 0x20) << 8 | (offset & 0x18) << 7 | (offset & 0x07)


def _offset(word: int) -> int:
    return (word >> 8 & 0x20) | (word >> 7 & 0x18) | (word & 0x07)


def _ldi(weight: int) -> int:
    return LDI | (weight & 0xF0) << 4 | (weight & 0x0F)


def _immediate(word: int) -> int:
    byte = (word >> 4 & 0xF0) | (word & 0x0F)
    return byte - 256 if byte > 127 else byte


def _adiw(step: int) -> int:
    return ADIW | (step & 0x30) << 2 | (step & 0x0F)


def _is_term(code: Array, number: int) -> bool:
    """A weight's first word is followed by ldi and the rest."""
    following = code[number + 1 : number + 7].tolist()
    return (
        bool(following)
        and following[0] & LDI_MASK == LDI
        and any(tuple(following[1 : 1 + len(rest)]) == rest for rest in REST_OF_TERM.values())
    )
