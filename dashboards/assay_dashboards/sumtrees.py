"""Summation trees as fingerprints write them (harness/check/sum_tree.h), and their drawing.

(0,1,(2,3))   0 and 1 are added, then the sum of 2 and 3        [0:15]   sixteen at once
a:b, a:b:s    the indices from a to b, by steps of s
"""

import re

from markupsafe import Markup

_TOKEN = re.compile(r"(-?\d+)(?::(-?\d+))?(?::(-?\d+))?|[()\[\],]")
_MOST_TERMS = 1024
_DEEPEST = 64  # of brackets within brackets; sums in turn need none


class Tree:
    """A term, or a node: `parts` are what it adds, from left to right."""

    def __init__(self, parts=(), term=None):
        self.parts = list(parts)
        self.term = term


def parse(text: str):
    """The tree, or None for a text that is none or too large to be drawn."""
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            return None
        tokens.append(match)
        at = match.end()
    try:
        parts, rest = _part(tokens, 0, 0)
    except (ValueError, IndexError):
        return None
    return parts[0] if rest == len(tokens) and len(parts) == 1 and _count(parts[0]) <= _MOST_TERMS else None


def _part(tokens, at, depth):
    """(trees, next token): a range is several."""
    token = tokens[at]
    if token[1] is not None:
        first = int(token[1])
        last, step = int(token[2] or first), int(token[3] or 1)
        if step == 0 or not 0 <= (last - first) / step < _MOST_TERMS:
            raise ValueError
        return [Tree(term=i) for i in range(first, last + (1 if step > 0 else -1), step)], at + 1
    if token[0] not in "([" or depth > _DEEPEST:
        raise ValueError
    close = {"(": ")", "[": "]"}[token[0]]
    parts = []
    while True:
        more, at = _part(tokens, at + 1, depth + 1)
        parts += more
        if tokens[at][0] == close:
            break
        if tokens[at][0] != ",":
            raise ValueError
    if len(parts) < 2 or len(parts) > _MOST_TERMS:
        raise ValueError
    if close == "]":
        return [Tree(parts)], at + 1
    tree = parts[0]
    for part in parts[1:]:
        tree = Tree([tree, part])
    return [tree], at + 1


def _in_order(tree):
    """Every node after its parts; chains are as deep as they are long, so no recursion."""
    ordered, stack = [], [tree]
    while stack:
        node = stack.pop()
        ordered.append(node)
        stack += node.parts
    return reversed(ordered)


def _count(tree):
    return sum(1 for node in _in_order(tree) if not node.parts)


def drawing(text: str):
    """Inline SVG of a tree, terms at the bottom from left to right, or None; sums of many at once are marked."""
    tree = parse(text)
    if tree is None:
        return None
    place, height = {}, {}
    left_to_right = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.parts:
            stack += reversed(node.parts)
        else:
            left_to_right.append(node)
    for x, node in enumerate(left_to_right):
        place[id(node)], height[id(node)] = float(x), 0
    lines, marks = [], []
    nodes = [node for node in _in_order(tree) if node.parts]
    for node in nodes:
        xs = [place[id(part)] for part in node.parts]
        place[id(node)] = sum(xs) / len(xs)
        height[id(node)] = 1 + max(height[id(part)] for part in node.parts)
    top = height[id(tree)]
    wide, high, margin = 480.0, 150.0, 6.0
    step_x = (wide - 2 * margin) / max(1, len(left_to_right) - 1)
    step_y = (high - 2 * margin) / max(1, top)

    def point(node, at=None):
        y = high - margin - step_y * height[id(node if at is None else at)]
        return f"{margin + step_x * place[id(node)]:.1f},{y:.1f}"

    for node in nodes:
        # From each part straight up to the node's height, then along it.
        for part in node.parts:
            lines.append(f"M{point(part)}L{point(part, node)}L{point(node)}")
        if len(node.parts) > 2:
            x, y = point(node).split(",")
            marks.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="var(--second)"/>')
    # Safe: numbers made here.
    return Markup(  # noqa: S704
        f'<svg role="img" aria-label="Summation tree of {len(left_to_right)} terms" class="tree" '
        f'viewBox="0 0 {wide:g} {high:g}">'
        f'<path d="{"".join(lines)}" fill="none" stroke="var(--first)" stroke-width="1"/>{"".join(marks)}</svg>'
    )
