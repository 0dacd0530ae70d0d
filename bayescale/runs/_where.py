"""Row selection: a comparison over the columns, evaluated here so that nothing else can be."""

from __future__ import annotations

import ast
import difflib
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from bayescale.errors import RunsError
from bayescale.runs._messages import names

__all__ = ["names_in", "select_rows"]

_MAX_LENGTH = 2_000
_EXAMPLE = 'expected a comparison such as "loss < 3.44" or "dataset == \'c4\' and N > 1e8"'
_ORDER: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_LOGIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {ast.BitAnd: np.logical_and, ast.BitOr: np.logical_or}


def select_rows(expression: str, columns: Mapping[str, Callable[[], np.ndarray]], n_rows: int) -> np.ndarray:
    """The rows for which an expression is true.

    Parameters
    ----------
    expression : str
        Comparisons, ``and or not in``, arithmetic; a column whose name is no word stands in backticks:
        ``"`eval/loss` < 3"``. There are no calls and no attributes.
    columns : mapping of str to callable
        Name -> how to get its cells (float64, bool, or text as objects).
    n_rows : int
        Rows of the table.

    Returns
    -------
    numpy.ndarray
        One bool a row.

    Raises
    ------
    RunsError
        Not an expression, an unknown column, something that is not allowed, or no yes or no for each row.
    """
    tree, quoted = _parsed(expression)
    scope = _Scope(expression, columns, quoted)
    try:
        with np.errstate(all="ignore"):
            result = scope.value(tree)
    except RecursionError:
        raise scope.error("it is nested too deeply") from None
    result = np.asarray(result)
    if result.dtype != bool:
        raise scope.error("it gives a value for each row instead of yes or no")
    return np.broadcast_to(result, (n_rows,)).copy()


def names_in(expression: str) -> list[str]:
    """The columns that an expression reads, in order."""
    tree, quoted = _parsed(expression)
    used = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return list(dict.fromkeys(quoted.get(name, name) for name in used))


def _parsed(expression: str) -> tuple[ast.expr, dict[str, str]]:
    if len(expression) > _MAX_LENGTH:
        raise RunsError(f"--where is {len(expression):,} characters long; {_EXAMPLE}")
    quoted: dict[str, str] = {}

    def placeholder(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        quoted.setdefault(f"_backtick_{len(quoted)}_", match[1])
        return next(name for name, column in quoted.items() if column == match[1])

    # Strings are matched too, and left alone: a backtick in one is a character.
    text = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"|`([^`\n]+)`", placeholder, expression)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        hint = "; write == to compare" if re.search(r"(?<![=<>!])=(?!=)", text) else ""
        hint = hint or ("; write 70B as 7e10" if re.search(r"\b[0-9.]+[kmbtKMBT]\b", text) else "")
        raise RunsError(f"--where {expression!r} cannot be read{hint}; {_EXAMPLE}") from None
    return tree.body, quoted


class _Scope:
    """One expression over one table."""

    def __init__(
        self, expression: str, columns: Mapping[str, Callable[[], np.ndarray]], quoted: Mapping[str, str]
    ) -> None:
        self._expression = expression
        self._columns = columns
        self._quoted = quoted

    def error(self, why: str) -> RunsError:
        return RunsError(f"--where {self._expression!r}: {why}; {_EXAMPLE}")

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name():
                return self._column(self._quoted.get(node.id, node.id))
            case ast.Constant(value=bool() | str()):
                return node.value
            case ast.Constant(value=int() | float()):
                return self._number(cast(float, node.value))
            case ast.BoolOp():
                parts = [self._truth(part) for part in node.values]
                join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
                return join.reduce(np.broadcast_arrays(*parts))
            case ast.UnaryOp(op=ast.Not() | ast.Invert()):
                return np.logical_not(self._truth(node.operand))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                operand = self._numeric(node.operand)
                return -operand if isinstance(node.op, ast.USub) else operand
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                return _ARITHMETIC[type(node.op)](self._numeric(node.left), self._numeric(node.right))
            case ast.BinOp() if type(node.op) in _LOGIC:
                return _LOGIC[type(node.op)](self._truth(node.left), self._truth(node.right))
            case ast.Compare():
                return self._compare(node)
        raise self.error(f"{ast.unparse(node)[:60]!r} is not allowed here")

    def _column(self, name: str) -> np.ndarray:
        if name in self._columns:
            return self._columns[name]()
        close = difflib.get_close_matches(name, list(self._columns), n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise RunsError(
            f"--where {self._expression!r}: there is no column {name!r}; {hint}Known are {names(self._columns, 30)}. "
            "A name that is not one word stands in `backticks`, text in 'quotes'"
        )

    def _number(self, value: float) -> np.float64:
        try:
            return np.float64(value)
        except OverflowError:
            raise self.error("a number in it is too large") from None

    def _numeric(self, node: ast.expr) -> Any:
        value = self.value(node)
        if np.asarray(value).dtype.kind != "f":
            raise self.error(f"{ast.unparse(node)[:60]!r} is text or yes/no where a number is needed")
        return value

    def _truth(self, node: ast.expr) -> Any:
        value = self.value(node)
        if np.asarray(value).dtype.kind != "b":
            raise self.error(
                f"{ast.unparse(node)[:60]!r} is not a comparison (join comparisons with and, or; not with & and |)"
            )
        return value

    def _compare(self, node: ast.Compare) -> Any:
        result: Any = np.True_
        left = self.value(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                if not isinstance(right_node, ast.List | ast.Tuple | ast.Set):
                    raise self.error("'in' takes a list, such as dataset in ['c4', 'rpj']")
                options = [self._equal(left, self.value(item)) for item in right_node.elts]
                found = np.logical_or.reduce(np.broadcast_arrays(*options)) if options else np.False_
                step = np.logical_not(found) if isinstance(op, ast.NotIn) else found
                right = left
            elif type(op) in _ORDER:
                right = self.value(right_node)
                step = self._ordered(op, left, right)
            else:
                raise self.error("'is' is not allowed, write ==")
            result = np.logical_and(result, step)
            left = right
        return result

    def _ordered(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Eq):
            return self._equal(left, right)
        if isinstance(op, ast.NotEq):
            return np.logical_not(self._equal(left, right))
        if np.asarray(left).dtype.kind != "f" or np.asarray(right).dtype.kind != "f":
            raise self.error("<, <=, > and >= compare numbers, and one side is text or yes/no")
        return _ORDER[type(op)](left, right)

    def _equal(self, left: Any, right: Any) -> Any:
        kinds = {_kind(left), _kind(right)}
        if kinds == {"yes/no", "text"}:
            # A column of True and False read from text: the person may have written either.
            left, right = (_as_text(side) for side in (left, right))
        elif len(kinds) > 1:
            raise self.error(f"a {' is compared with a '.join(sorted(kinds))}; text stands in quotes, numbers do not")
        return np.equal(np.asarray(left, dtype=object), np.asarray(right, dtype=object)).astype(bool)


def _kind(value: Any) -> str:
    return {"f": "number", "b": "yes/no"}.get(np.asarray(value).dtype.kind, "text")


def _as_text(value: Any) -> np.ndarray:
    array = np.asarray(value, dtype=object)
    return np.vectorize(lambda cell: str(cell).strip().lower(), otypes=[object])(array)
