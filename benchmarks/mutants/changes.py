"""The changes: every mutant of a source file, as a replaced piece of its text.

One change each: arithmetic, comparison, boundary, condition, boolean, sign, constant, return,
removed statement, swapped arguments. Texts, annotations, decorators and `zip(strict=…)` are left
alone: a message is judged by its reader, and lengths that agree by construction cannot disagree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
SYMMETRIC = {
    *("max", "min", "maximum", "minimum", "logical_and", "logical_or"),
    *("equal", "isclose", "allclose"),
}
"""Functions whose first two arguments may be swapped."""
_UNSAID = {"__all__", "__slots__"}


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    file: Path
    line: int
    start: int
    end: int
    """Bytes `start:end` of the file are replaced."""
    before: str
    after: str
    kind: str
    function: str
    """Outermost function with its classes (`Account.buy`); empty at the level of the module."""
    lines: tuple[int, int]
    """First and last line of the statement (or of its head) that is changed."""

    @property
    def change(self) -> str:
        """The change in words, on one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{before} → {after}" if self.kind != "removed statement" else f"remove {before}"

    def source(self) -> str:
        """Return the whole file with the change in it."""
        text = self.file.read_bytes()
        return (text[: self.start] + self.after.encode() + text[self.end :]).decode()


@dataclass
class _Place:
    """Where the walk is: the outermost function and the statement."""

    function: str
    inside: bool
    lines: tuple[int, int]


def mutants_of(file: Path) -> list[Mutant]:
    """Return every mutant of a file, in the order of its text."""
    return sorted(
        _Finder(file).found, key=lambda each: (each.start, each.end, each.kind, each.after)
    )


class _Finder:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._text = file.read_bytes()
        self._starts = [0]
        for line in self._text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.found: list[Mutant] = []
        self._body(ast.parse(self._text).body, "", inside=False)

    def _body(self, body: list[ast.stmt], function: str, *, inside: bool) -> None:
        for statement in body:
            self._statement(statement, function, inside=inside)

    def _statement(self, node: ast.stmt, function: str, *, inside: bool) -> None:
        name = getattr(node, "name", "")
        if isinstance(node, ast.ClassDef):
            self._body(node.body, function if inside else f"{function}{name}.", inside=inside)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            outer = _Place("" if not inside else function, inside, (node.lineno, node.lineno))
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    self._expression(default, outer)
            self._body(node.body, function if inside else f"{function}{name}", inside=True)
        elif not _is_declaration(node):
            self._plain(node, function, inside=inside)

    def _plain(self, node: ast.stmt, function: str, *, inside: bool) -> None:
        blocks = [
            block
            for field in ("body", "orelse", "finalbody")
            if (block := getattr(node, field, None)) and isinstance(block, list)
        ]
        blocks += [handler.body for handler in getattr(node, "handlers", ())]
        blocks += [case.body for case in getattr(node, "cases", ())]
        last = blocks[0][0].lineno - 1 if blocks else node.end_lineno or node.lineno
        place = _Place(function if inside else "", inside, (node.lineno, max(last, node.lineno)))
        if not blocks and _is_removable(node):
            self._add(node, "pass", "removed statement", place)
        if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            self._add(node, "return None", "return", place)
        if isinstance(node, ast.If | ast.While):
            self._negate(node.test, place)
        if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            changed = ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
            self._add(node, ast.unparse(changed), "arithmetic", place)
        for expression in _expressions(node):
            self._expression(expression, place)
        for block in blocks:
            self._body(block, function, inside=inside)

    def _expression(self, node: ast.expr, place: _Place) -> None:
        for kind, changed in _changes(node):
            self._add(node, f"({ast.unparse(changed)})", kind, place)
        if isinstance(node, ast.JoinedStr):
            return  # pieces of texts have no places of their own before Python 3.12
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.keyword):
                if child.arg != "strict":
                    self._expression(child.value, place)
            elif isinstance(child, ast.comprehension):
                for part in (child.iter, *child.ifs):
                    self._expression(part, place)
                for test in child.ifs:
                    self._negate(test, place)
            elif isinstance(child, ast.expr):
                self._expression(child, place)

    def _negate(self, test: ast.expr, place: _Place) -> None:
        alone = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not alone and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            self._add(test, f"(not ({ast.unparse(test)}))", "condition", place)

    def _add(self, node: ast.stmt | ast.expr, after: str, kind: str, place: _Place) -> None:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = self._text[start:end].decode()
        function = place.function if place.inside else ""
        self.found.append(
            Mutant(self._file, node.lineno, start, end, before, after, kind, function, place.lines)
        )


def _changes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield kind and changed node for what can be changed at a node itself."""
    change = _CHANGES.get(type(node))
    if change is not None:
        yield from change(node)


def _change_arithmetic(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    if type(node.op) in ARITHMETIC and not _is_text(node.left):
        yield "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)


def _change_comparison(node: ast.Compare) -> Iterator[tuple[str, ast.expr]]:
    for at, op in enumerate(node.ops):
        for kind, table in (("comparison", OPPOSITE), ("boundary", BOUNDARY)):
            if type(op) in table:
                ops = [*node.ops[:at], table[type(op)](), *node.ops[at + 1 :]]
                yield kind, ast.Compare(node.left, ops, node.comparators)


def _change_boolean(node: ast.BoolOp) -> Iterator[tuple[str, ast.expr]]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "boolean", ast.BoolOp(other, node.values)


def _change_choice(node: ast.IfExp) -> Iterator[tuple[str, ast.expr]]:
    yield "condition", ast.IfExp(node.test, node.orelse, node.body)


def _change_sign(node: ast.UnaryOp) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node.op, ast.UAdd):
        yield "boolean" if isinstance(node.op, ast.Not) else "sign", node.operand


def _change_constant(node: ast.Constant) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield "constant", ast.Constant(node.value + 1)


def _change_arguments(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    if len(node.args) > 1 and _may_swap(node):
        first, second, *rest = node.args
        yield "swapped arguments", ast.Call(node.func, [second, first, *rest], node.keywords)


_CHANGES: dict[type[ast.expr], Callable[[Any], Iterator[tuple[str, ast.expr]]]] = {
    ast.BinOp: _change_arithmetic,
    ast.Compare: _change_comparison,
    ast.BoolOp: _change_boolean,
    ast.IfExp: _change_choice,
    ast.UnaryOp: _change_sign,
    ast.Constant: _change_constant,
    ast.Call: _change_arguments,
}


def _may_swap(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    first, second = call.args[:2]
    starred = isinstance(first, ast.Starred) or isinstance(second, ast.Starred)
    alike = ast.dump(first) == ast.dump(second)
    return not starred and not alike and name not in SYMMETRIC and name != "isinstance"


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement's own head, without annotations, names and texts."""
    skipped = {"annotation", "target"} if not isinstance(node, ast.Assign) else set()
    for name, part in ast.iter_fields(node):
        parts = part if isinstance(part, list) else [part]
        if name not in skipped:
            found = [
                each.context_expr if isinstance(each, ast.withitem) else each for each in parts
            ]
            yield from (each for each in found if isinstance(each, ast.expr))


def _is_removable(node: ast.stmt) -> bool:
    """Tell whether a program without a statement still has every name."""
    match node:
        case ast.Expr(value):
            return not isinstance(value, ast.Constant)
        case ast.Assign(targets):
            return all(isinstance(each, ast.Attribute | ast.Subscript) for each in targets)
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            return True
        case _:
            return False


def _is_declaration(node: ast.stmt) -> bool:
    """Tell whether a statement is for readers and checkers of types only."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()):
            return True
        case ast.If(test):
            return ast.unparse(test).endswith("TYPE_CHECKING")
        case ast.Assign([ast.Name(name)]):
            return name in _UNSAID
        case _:
            return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
