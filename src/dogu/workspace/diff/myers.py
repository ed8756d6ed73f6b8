"""Myers' difference of two sequences of numbers, by divide and conquer in linear space.

Source: E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section 4b. Numbers found on one side only
are set aside first: they can't match, so the rest's answer is the whole's.
"""

from __future__ import annotations

# The shortest script costs time in the product of length and difference: two unlike files of 100,000 lines would take
# minutes. So a search that has taken as many steps as _LEAST_COST, or as the root of its box, is cut where both ends
# came furthest, and once the budget is gone the rest counts as changed: a longer script, and still a right one.
_LEAST_COST = 256
_BUDGET_STEPS = 4_000_000


def mark_changes(old: list[int], new: list[int]) -> tuple[bytearray, bytearray]:
    """Return for each side a byte an element: 1 where it has no partner. Unmarked elements pair up in order.

    Minimal while that is affordable; beyond, a longer difference, still right.
    """
    old_changed, new_changed = bytearray(b"\1") * len(old), bytearray(b"\1") * len(new)
    in_old, in_new = set(old), set(new)
    old_at = [at for at, number in enumerate(old) if number in in_new]
    new_at = [at for at, number in enumerate(new) if number in in_old]
    search = _Search([old[at] for at in old_at], [new[at] for at in new_at])
    for old_index, new_index in search.pairs():
        old_changed[old_at[old_index]] = 0
        new_changed[new_at[new_index]] = 0
    return old_changed, new_changed


class _Search:
    """The middle of a shortest edit script, found from both ends at once; diagonal k holds x - y = k."""

    def __init__(self, old: list[int], new: list[int]) -> None:
        self._old = old
        self._new = new
        self._offset = len(new) + 1
        size = len(old) + len(new) + 3
        self._forward = [0] * size
        self._backward = [0] * size
        self._budget = _BUDGET_STEPS

    def pairs(self) -> list[tuple[int, int]]:
        """Pair equal elements."""
        found: list[tuple[int, int]] = []
        # A stack, not a recursion: two unlike files of many lines are cut more often than Python may call itself.
        boxes = [(0, len(self._old), 0, len(self._new))]
        old, new = self._old, self._new
        while boxes:
            left, right, top, bottom = boxes.pop()
            while left < right and top < bottom and old[left] == new[top]:
                found.append((left, top))
                left, top = left + 1, top + 1
            while left < right and top < bottom and old[right - 1] == new[bottom - 1]:
                right, bottom = right - 1, bottom - 1
                found.append((right, bottom))
            if left == right or top == bottom:
                continue
            split = self._middle(left, right, top, bottom)
            # Without one nothing in the box is paired: all of it counts as changed, which is never wrong.
            if split:
                boxes += [(left, split[0], top, split[1]), (split[0], right, split[1], bottom)]
        return found

    def _middle(self, left: int, right: int, top: int, bottom: int) -> tuple[int, int] | None:
        """Find a point a shortest script passes through; past the cost bound the best so far, None without budget."""
        forward, backward, offset = self._forward, self._backward, self._offset
        # A path of D steps ends on a diagonal of the parity of D. So that of the box says which of the two searches can
        # close the gap; in the other's turn there is nothing to look for.
        down, up = left - top + offset, right - bottom + offset
        forward_low = forward_high = down
        backward_low = backward_high = up
        forward[down], backward[up] = left, right
        lowest, highest = left - bottom + offset, right - top + offset
        is_odd = (down - up) & 1
        most = max(_LEAST_COST, int((right - left + bottom - top) ** 0.5))
        for _ in range(most):
            if self._budget <= 0:
                return None
            forward_low, forward_high = _widened(forward, forward_low, forward_high, lowest, highest, -1)
            met = self._extend_forward(
                (forward_low, forward_high), (right, bottom), (backward_low, backward_high) if is_odd else (1, 0)
            )
            if met:
                return met
            backward_low, backward_high = _widened(backward, backward_low, backward_high, lowest, highest, 1 << 62)
            met = self._extend_backward(
                (backward_low, backward_high), (left, top), (1, 0) if is_odd else (forward_low, forward_high)
            )
            if met:
                return met
            self._budget -= forward_high - forward_low + backward_high - backward_low + 2
        return self._furthest((forward_low, forward_high), (left, right, top, bottom))

    def _extend_forward(
        self, diagonals: tuple[int, int], ends: tuple[int, int], other: tuple[int, int]
    ) -> tuple[int, int] | None:
        old, new, forward, offset = self._old, self._new, self._forward, self._offset
        right, bottom = ends
        for diagonal in range(diagonals[1], diagonals[0] - 1, -2):
            # Of the two ways onto a diagonal the one that got further: whatever the shorter reaches, this reaches too.
            before, after = forward[diagonal - 1], forward[diagonal + 1]
            x = before + 1 if before >= after else after
            y = x - diagonal + offset
            while x < right and y < bottom and old[x] == new[y]:
                x, y = x + 1, y + 1
            forward[diagonal] = x
            if other[0] <= diagonal <= other[1] and self._backward[diagonal] <= x:
                return x, y
        return None

    def _extend_backward(
        self, diagonals: tuple[int, int], starts: tuple[int, int], other: tuple[int, int]
    ) -> tuple[int, int] | None:
        old, new, backward, offset = self._old, self._new, self._backward, self._offset
        left, top = starts
        for diagonal in range(diagonals[1], diagonals[0] - 1, -2):
            before, after = backward[diagonal - 1], backward[diagonal + 1]
            x = before if before < after else after - 1
            y = x - diagonal + offset
            while x > left and y > top and old[x - 1] == new[y - 1]:
                x, y = x - 1, y - 1
            backward[diagonal] = x
            if other[0] <= diagonal <= other[1] and x <= self._forward[diagonal]:
                return x, y
        return None

    def _furthest(self, diagonals: tuple[int, int], box: tuple[int, int, int, int]) -> tuple[int, int] | None:
        """Return the forward point that got furthest inside the box."""
        left, right, top, bottom = box
        best: tuple[int, int] | None = None
        for diagonal in range(diagonals[1], diagonals[0] - 1, -2):
            x = min(self._forward[diagonal], right)
            y = x - diagonal + self._offset
            if y > bottom:
                x, y = x - (y - bottom), bottom
            if x >= left and y >= top and (best is None or x + y > sum(best)):
                best = (x, y)
        return best if best not in ((left, top), (right, bottom)) else None


def _widened(reach: list[int], low: int, high: int, lowest: int, highest: int, beyond: int) -> tuple[int, int]:
    """Open one more diagonal on each side, or close one where the box ends."""
    if low > lowest:
        # The neighbour that nobody has reached loses every comparison, so that no step asks whether it is there.
        low -= 1
        reach[low - 1] = beyond
    else:
        low += 1
    if high < highest:
        high += 1
        reach[high + 1] = beyond
    else:
        high -= 1
    return low, high
