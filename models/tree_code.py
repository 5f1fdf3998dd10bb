"""Trees as straight-line AVR code: every node is a comparison with an immediate and a branch.

Nothing is read from flash and nothing is looked up: a node takes 4 or 5 cycles with int8 features and 7 or 8
with int16, where a table needs 19 to 30, at 6 or 10 bytes a node. The words are machine code that the kernel
calls (firmware/lib/kernels/avr_trees.h has the registers); they hold no address, so that they can lie
anywhere, and the trees can be read from them again, here and by the C for other processors.

    a feature        ldd r24, Y+q (and ldd r25, Y+q+1)                  Y and Z each reach 64 bytes
                     movw r26, r28; subi, sbci; ld r24, X (X+, then r25)  whatever they do not reach
    its comparison   cpi r24, t+1     or, of 16 bits, subi r24; sbci r25; if t+1 is a multiple of 256, cpi r25
    its branch       brge to the high side, or brlt to the low one; the other side follows
                     the opposite branch past an rjmp where the branch itself does not reach
    a vote           inc r23 (or r22, …); rjmp to the end of the tree
    a value          ldi r24, ldi r25; rjmp to the end of the tree, which adds it to its score's registers

After the last tree stands ret. The smaller side of a node follows it, so that most branches reach; a leaf
like one shortly before is not written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from models.errors import InputError
from models.inputs import Array
from models.tree_nodes import Ints, Tree

REACH = 64
"""Bytes from Y, or Z, on that ldd reaches."""
BRANCH_REACH, JUMP_REACH = 63, 2047
"""Words forward of a conditional branch and of rjmp. Backward it is one more."""
MOST_VOTES, MOST_SUM_BYTES = 22, 20
"""Votes are counted in r23 and the registers before it, down to r2; sums leave r22 and r23 to a sign."""
FIRST_REGISTER = 2
MOST_TREES = 255
"""A register counts votes, and so many values of one byte add up to at most 16 bits."""
SUM_BYTES = {0: 0, 1: 2, 2: 4}
"""The width of a score's sum by that of a leaf's value."""

CPI, SBCI, SUBI, LDI = 0x3000, 0x4000, 0x5000, 0xE000
BRGE, BRLT, RJMP, RET = 0xF404, 0xF004, 0xC000, 0x9508
FAR = 0x01DE
"""movw r26, r28: a feature comes by X."""
LD_X, LD_X_NEXT, INC = 0x900C, 0x900D, 0x9403
ADD, ADC, SBC, MOV = 0x0C00, 0x1C00, 0x0800, 0x2C00
LOW, HIGH, EXTENSION = 24, 25, 22
X_LOW, X_HIGH = 26, 27


@dataclass(frozen=True)
class CodeFormat:
    """What the code depends on beside the trees."""

    feature_bytes: int
    sum_bytes: int
    """Of a score of boosted trees, 2 or 4; 0: votes."""
    scores: int
    """Tallies: a vote a class, or a sum a score."""
    y: int
    z: int
    """The byte of the vector that Y points at, and Z."""

    @property
    def fits(self) -> bool:
        """Whether the tallies have registers."""
        return self.first_tally >= FIRST_REGISTER

    @property
    def first_tally(self) -> int:
        """The register of the first tally; the last are those that a caller need not save."""
        most = MOST_SUM_BYTES if self.sum_bytes else MOST_VOTES
        return FIRST_REGISTER + most - self.scores * max(1, self.sum_bytes)

    def load(self, at: int, registers: Sequence[int]) -> list[int]:
        """The bytes from `at` on, into these registers."""
        for base, bit in ((self.y, 8), (self.z, 0)):
            if base <= at and at + len(registers) <= base + REACH:
                return [_ldd(register, at + i - base, bit) for i, register in enumerate(registers)]
        offset = self.y - at
        step = [FAR, _immediate(SUBI, X_LOW, offset), _immediate(SBCI, X_HIGH, offset >> 8)]
        *first, last = registers
        return [*step, *(LD_X_NEXT | register << 4 for register in first), LD_X | last << 4]

    def test(self, feature: int, threshold: int) -> list[int]:
        """Load a feature and compare it with threshold + 1."""
        at, bound = feature * self.feature_bytes, threshold + 1
        if self.feature_bytes == 1:
            return [*self.load(at, [LOW]), _immediate(CPI, LOW, bound)]
        if bound % 256 == 0:
            return [*self.load(at + 1, [HIGH]), _immediate(CPI, HIGH, bound >> 8)]
        return [
            *self.load(at, [LOW, HIGH]),
            _immediate(SUBI, LOW, bound),
            _immediate(SBCI, HIGH, bound >> 8),
        ]

    def leaf(self, value: int) -> list[int]:
        if not self.sum_bytes:
            return [INC | (self.first_tally + value) << 4]
        return [_immediate(LDI, LOW, value), _immediate(LDI, HIGH, value >> 8)]

    def end(self, number: int) -> list[int]:
        """What stands after a tree: its value goes to its score."""
        if not self.sum_bytes:
            return []
        first = self.first_tally + number % self.scores * self.sum_bytes
        words = [_pair(ADD, first, LOW), _pair(ADC, first + 1, HIGH)]
        if self.sum_bytes == 2:
            return words
        sign = [_pair(MOV, EXTENSION, HIGH), _pair(ADD, EXTENSION, EXTENSION)]
        sign.append(_pair(SBC, EXTENSION, EXTENSION))
        return [*sign, *words, _pair(ADC, first + 2, EXTENSION), _pair(ADC, first + 3, EXTENSION)]

    def end_cycles(self) -> int:
        return len(self.end(0))


@dataclass
class _Writer:
    """The words of one tree."""

    form: CodeFormat
    tree: Tree
    words: list[int] = field(default_factory=list)
    leaves: dict[int, int] = field(default_factory=dict)
    """Where the last leaf of each value begins."""
    ends: list[int] = field(default_factory=list)
    """The jumps to the end of the tree."""

    def __post_init__(self) -> None:
        tree, sizes = self.tree, np.zeros(len(self.tree.feature), dtype=np.int64)
        for node in reversed(tree.order()):
            if tree.feature[node] < 0:
                sizes[node] = len(self.form.leaf(int(tree.value[node]))) + 1
            else:
                sides = sorted((int(sizes[tree.left[node]]), int(sizes[tree.right[node]])))
                test = len(self.form.test(int(tree.feature[node]), int(tree.threshold[node])))
                sizes[node] = test + sum(sides) + (1 if sides[0] <= BRANCH_REACH else 2)
        self.sizes = sizes

    def write(self, node: int) -> None:
        tree = self.tree
        if tree.feature[node] < 0:
            self.leaves[int(tree.value[node])] = len(self.words)
            self.words += self.form.leaf(int(tree.value[node]))
            self.ends.append(len(self.words))
            self.words.append(RJMP)
            return
        self.words += self.form.test(int(tree.feature[node]), int(tree.threshold[node]))
        sides = (int(tree.left[node]), int(tree.right[node]))
        for away in (1, 0):
            written = self._written(sides[away])
            if written is not None:
                self.words.append(_branch(away, written - len(self.words) - 1))
                self.write(sides[1 - away])
                return
        away = 1 if self.sizes[sides[0]] <= self.sizes[sides[1]] else 0
        near = self.sizes[sides[1 - away]] <= BRANCH_REACH
        at = len(self.words)
        self.words += [0] if near else [_branch(1 - away, 1), 0]
        self.write(sides[1 - away])
        if near:
            self.words[at] = _branch(away, len(self.words) - at - 1)
        else:
            self.words[at + 1] = _jump(len(self.words) - at - 2)
        self.write(sides[away])

    def _written(self, node: int) -> int | None:
        """Where a leaf like this one stands within reach."""
        if self.tree.feature[node] >= 0:
            return None
        at = self.leaves.get(int(self.tree.value[node]))
        return at if at is not None and len(self.words) - at <= BRANCH_REACH else None

    def finish(self, number: int) -> list[int]:
        self.write(0)
        self.words.pop()  # the last leaf's jump: the end of the tree follows it
        end = len(self.words)
        for at in self.ends[:-1]:
            self.words[at] = _jump(end - at - 1)
        return self.words + self.form.end(number)


def windows(trees: Sequence[Tree], features: int, feature_bytes: int) -> tuple[int, int]:
    """Where Y and Z point such that ldd reaches the features of the most nodes."""
    used = np.concatenate([tree.feature[tree.feature >= 0] for tree in trees])
    count = np.bincount(used, minlength=features).repeat(feature_bytes)
    found = []
    for _ in range(2):
        total = np.concatenate(([0], np.cumsum(count)))
        starts = np.arange(0, max(1, len(count) - REACH + 1), feature_bytes)
        covered = total[np.minimum(starts + REACH, len(count))] - total[starts]
        found.append(int(starts[covered.argmax()]))
        count[found[-1] : found[-1] + REACH] = 0
    return found[0], found[1]


def encode(trees: Sequence[Tree], form: CodeFormat) -> Array:
    """The words; InputError where the trees cannot be code."""
    if not form.fits or len(trees) > MOST_TREES:
        raise InputError(f"{len(trees)} trees and {form.scores} scores are too many for registers.")
    words: list[int] = []
    for number, tree in enumerate(trees):
        written = _Writer(form, tree).finish(number)
        if len(written) > JUMP_REACH:
            raise InputError(f"Tree {number} takes {len(written)} words, and rjmp reaches {JUMP_REACH}.")
        words += written
    return np.array([*words, RET], dtype="<u2")


def suits(trees: Sequence[Tree], form: CodeFormat) -> bool:
    """Whether the trees can be code."""
    try:
        encode(trees, form)
    except InputError:
        return False
    return True


@dataclass(frozen=True)
class CodedTree:
    """A tree read from code, and what its nodes take: cycles to the low side, to the high, or of a leaf."""

    tree: Tree
    low: Ints
    high: Ints


@dataclass
class _Reader:
    form: CodeFormat
    code: list[int]
    at: int
    """Where the tree begins, and after `tree` where it ends."""

    def tree(self, number: int) -> CodedTree:
        rows: list[list[int]] = []
        end = self.at
        todo = [(self.at, -1, 0)]
        try:
            while todo:
                at, parent, side = todo.pop()
                if parent >= 0:
                    rows[parent][side] = len(rows)
                if len(rows) > len(self.code):
                    raise InputError(f"The code of tree {number} has no end.")
                leaf = self._leaf(at)
                if leaf is not None:
                    end = max(end, leaf[1])
                    rows.append([-1, 0, 0, 0, leaf[0], leaf[2], leaf[2]])
                    continue
                feature, threshold, branch, cycles = self._test(at)
                low, high = self._sides(branch)
                rows.append([feature, threshold, 0, 0, 0, cycles + low[1], cycles + high[1]])
                todo += [(high[0], len(rows) - 1, 3), (low[0], len(rows) - 1, 2)]
        except IndexError:
            raise InputError(f"The code of tree {number} leads outside of it.") from None
        self.at = end + len(self.form.end(number))
        columns = np.array(rows, dtype=np.int64).T
        return CodedTree(Tree(*columns[:5]), columns[5], columns[6])

    def _leaf(self, at: int) -> tuple[int, int, int] | None:
        """Value, where the tree ends, and cycles, if there is a leaf."""
        word = self.code[at]
        if not self.form.sum_bytes:
            if word & 0xFE0F != INC:
                return None
            value, after, cycles = (word >> 4 & 0x1F) - self.form.first_tally, at + 1, 1
        else:
            if word & 0xF0F0 != LDI | (LOW - 16) << 4:
                return None
            value = _signed(_constant(word) | _constant(self.code[at + 1]) << 8, 2)
            after, cycles = at + 2, 2
        jump = self.code[after]
        if jump & 0xF000 == RJMP:
            return value, after + 1 + (jump & 0xFFF), cycles + 2
        return value, after, cycles

    def _test(self, at: int) -> tuple[int, int, int, int]:
        """Feature, threshold, where the branch stands, and the cycles before it."""
        code, cycles = self.code, 0
        if code[at] == FAR:
            offset = _signed(_constant(code[at + 1]) | _constant(code[at + 2]) << 8, 2)
            first, at, cycles = self.form.y - offset, at + 3, 3
            register = code[at] >> 4 & 0x1F
            count = 2 if code[at] & 0xF == LD_X_NEXT & 0xF else 1
        else:
            first = (self.form.y if code[at] & 8 else self.form.z) + _displacement(code[at])
            register = code[at] >> 4 & 0x1F
            count = 2 if register == LOW and self.form.feature_bytes == 2 else 1
        at += count
        cycles += 2 * count + count
        bound = _constant(code[at])
        if count == 2:
            bound = _signed(bound | _constant(code[at + 1]) << 8, 2)
        elif register == HIGH:
            bound, first = 256 * _signed(bound, 1), first - 1
        else:
            bound = _signed(bound, 1)
        return first // self.form.feature_bytes, bound - 1, at + count, cycles

    def _sides(self, at: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where the low side stands and the cycles to it, and the same of the high one."""
        word, jump = self.code[at], self.code[at + 1]
        away = 1 if word & 0xFC07 == BRGE else 0
        offset = (word >> 3 & 0x7F) - (word >> 2 & 0x80)
        sides = {away: (at + 1 + offset, 2), 1 - away: (at + 1, 1)}
        if offset == 1 and jump & 0xF000 == RJMP:
            sides[1 - away] = (at + 2 + (jump & 0xFFF), 3)
        return sides[0], sides[1]


def decode(code: Array, form: CodeFormat) -> list[CodedTree]:
    """The trees again, with their cycles. InputError if the words are not what encode can make."""
    if code.ndim != 1 or code.dtype != np.dtype("<u2") or code.size < 2 or int(code[-1]) != RET:
        raise InputError(f"The code is {code.dtype} of shape {code.shape}, not words that end with ret.")
    reader = _Reader(form, code.tolist(), 0)
    found: list[CodedTree] = []
    while reader.at < code.size - 1:
        found.append(reader.tree(len(found)))
    trees = [coded.tree for coded in found]
    if any((tree.feature < -1).any() for tree in trees) or not np.array_equal(encode(trees, form), code):
        raise InputError("The code is not what trees are made into.")
    return found


def _immediate(kind: int, register: int, value: int) -> int:
    return kind | (value & 0xF0) << 4 | (register - 16) << 4 | (value & 0x0F)


def _constant(word: int) -> int:
    return (word >> 4 & 0xF0) | (word & 0x0F)


def _signed(value: int, size: int) -> int:
    return value - (1 << 8 * size) if value >> (8 * size - 1) & 1 else value


def _ldd(register: int, offset: int, bit: int) -> int:
    return 0x8000 | register << 4 | bit | (offset & 0x20) << 8 | (offset & 0x18) << 7 | (offset & 0x07)


def _displacement(word: int) -> int:
    return (word >> 8 & 0x20) | (word >> 7 & 0x18) | (word & 0x07)


def _pair(kind: int, to: int, source: int) -> int:
    return kind | (source & 0x10) << 5 | to << 4 | (source & 0x0F)


def _branch(high: int, offset: int) -> int:
    """To the high side, or to the low one."""
    return (BRGE if high else BRLT) | (offset & 0x7F) << 3


def _jump(offset: int) -> int:
    return RJMP | offset & 0xFFF
