"""The optimizer: every rule gives an expression that is true on the same rows, and does what it is there for."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from expression_cases import (
    ISO,
    LATER_ISO,
    SAME_ISO,
    A,
    B,
    C,
    all_of,
    any_of,
    element,
    eq,
    expressions,
    interval,
    intervals,
    read,
    row_named,
    rows_of,
    within,
)
from hypothesis import given
from hypothesis import strategies as st

from fastfilter.bytecode.constants import Intervals
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.expr import (
    FALSE,
    TRUE,
    And,
    Exists,
    Expression,
    Literal,
    Not,
    NumberRange,
    Or,
    TextNumberRange,
    leaves,
)
from fastfilter.compiler.optimizer import RULES, Rule, optimize
from fastfilter.compiler.optimizer.cheap_first import cost_of_test
from fastfilter.compiler.optimizer.intervals import intersection, union
from fastfilter.errors import FilterError
from fastfilter.values import number_in

FIXTURES = sorted((Path(__file__).parent.parent / "golden" / "optimizer").glob("*.txt"))
BY_NAME = {rule.name: rule for rule in RULES}
EVERY_SELECTION = [*(pytest.param((rule,), id=rule.name) for rule in RULES), pytest.param(RULES, id="all")]


def assert_sound(before: Expression, rules: tuple[Rule, ...] = RULES) -> Expression:
    after, applied = optimize(before, rules)
    wrong = rows_of(before) ^ rows_of(after)
    assert not wrong, f"{applied} are wrong on {row_named(wrong)}:\n{before}\n{after}"
    return after


# ---------------------------------------------------------------------------------------------------------------------
# soundness

SMALL_TESTS = [
    read(text)
    for text in (
        "exists(a)", "is_null(a)", "exists(b)", "eq(a, 1)", "eq(a, 1, 2, 'a')", "eq(a, 2, None_)", "eq(a, None_)",
        "eq(a)", f"eq(a, '{ISO}')", f"eq(a, '{SAME_ISO}')", f"eq(a, '{SAME_ISO}', instants=('{ISO}',))",
        f"eq(a, instants=('{ISO}',))", f"eq(a, instants=('{LATER_ISO}',))", "eq(b, 1)", "eq(a, True)", "eq(a, False)",
        "within(a, 1)", "within(a, 2, None_)", f"within(a, '{ISO}')", "element(a, 1)", "element(a, 2, None_)",
        "number(a, '(, 1)')", "number(a, '[1, 2)')", "number(a, '[2, 3]')", "number(a, '(1, 2)', '(2, )')",
        "number(a)", "instant(a, '(, 1704067200000000000]')", "instant(a, '[1704067200000000000, )')",
        "string(a, 'lt', 'b')", f"string(a, 'gte', '{SAME_ISO}')", "contains(a, 'a')", "icontains(a, 'A')",
        "text(a, '1', 'a')", "text(a, '1.50')", f"text(a, '{ISO}')", f"text(a, '{SAME_ISO}')", "text(a)",
        "text_number(a, '[1, 2)')", "text_number(a, '[2, )')",
        "text_number(a, '(9007199254740992, 9007199254740993)')", "json(a, 'null')", "json(a, '1')", "json(a, '[1]')",
        "json(a, '{}')", "true", "false",
    )
]  # fmt: skip
SIGNED = [*SMALL_TESTS, *map(Not, SMALL_TESTS)]


@pytest.mark.parametrize("rules", EVERY_SELECTION)
def test_every_pair_of_tests(rules: tuple[Rule, ...]) -> None:
    for kind in (And, Or):
        for left, right in itertools.product(SIGNED, repeat=2):
            assert_sound(kind((left, right)), rules)


@pytest.mark.parametrize("rules", EVERY_SELECTION)
def test_every_pair_of_tests_one_level_apart(rules: tuple[Rule, ...]) -> None:
    third, fourth = read("eq(b, 1)"), read("exists(b)")
    for outer, inner in ((And, Or), (Or, And)):
        for left, right in itertools.product(SIGNED, repeat=2):
            assert_sound(outer((inner((left, third)), right)), rules)
            assert_sound(outer((left, Not(inner((right, third))), third)), rules)
            assert_sound(outer((inner((left, third)), inner((right, fourth)))), rules)


@given(expression=expressions())
def test_random_expressions(expression: Expression) -> None:
    for rule in RULES:
        assert_sound(expression, (rule,))
    assert_sound(expression)


@given(expression=expressions())
def test_optimized_expressions(expression: Expression) -> None:
    once, _ = optimize(expression)
    assert optimize(once) == (once, ()), "optimizing twice changes nothing"
    assert sum(1 for _ in leaves(once)) <= sum(1 for _ in leaves(expression)), "no test is added"
    assert_in_order_of_cost(once)


def assert_in_order_of_cost(node: Expression) -> int:
    if isinstance(node, Not):
        return assert_in_order_of_cost(node.child)
    if isinstance(node, And | Or):
        costs = [assert_in_order_of_cost(child) for child in node.children]
        assert costs == sorted(costs)
        return sum(costs)
    return 0 if isinstance(node, Literal) else cost_of_test(node)


# ---------------------------------------------------------------------------------------------------------------------
# what each rule is there for


def fixture_cases() -> list[object]:
    cases: list[object] = []
    for path in FIXTURES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line and not line.startswith("#"):
                cases.append(pytest.param(path.stem, line, id=f"{path.stem}:{number}"))
    return cases


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_every_rule_has_a_fixture(rule: str) -> None:
    assert rule.replace(" ", "_") in {path.stem for path in FIXTURES}


@pytest.mark.parametrize(("stem", "line"), fixture_cases())
def test_fixture(stem: str, line: str) -> None:
    """``before => after`` with the one rule the file is named after (``all``: with all); ``=> same``: no change."""
    before_text, after_text = line.split(" => ")
    rules = RULES if stem == "all" else (BY_NAME[stem.replace("_", " ")],)
    before = read(before_text)
    after, applied = optimize(before, rules)
    expected = before if after_text == "same" else read(after_text)
    assert after == expected
    assert bool(applied) is (after_text != "same")
    if all(leaf.field in (A, B) for leaf in leaves(before)):
        assert_sound(before, rules)


def test_names_of_applied_rules_are_in_the_order_of_the_rules() -> None:
    _, applied = optimize(all_of(read("contains(a, 'x')"), Not(Not(eq(A, 1)))))
    assert applied == ("double negation", "cheap conditions first")


def test_no_rules_change_nothing() -> None:
    expression = all_of(TRUE, Not(Not(eq(A, 1))), any_of())
    assert optimize(expression, ()) == (expression, ())


def test_instants_and_elements_are_never_intersected() -> None:
    for left, right in (
        (within(A, 1), within(A, 2)),
        (element(A, 1), element(A, 2)),
        (eq(A, instants=(ISO,)), eq(A, instants=(LATER_ISO,))),
        (eq(A, ISO), eq(A, SAME_ISO)),
        (eq(A, ISO), eq(A, instants=(ISO,))),
    ):
        assert optimize(all_of(left, right))[0] == all_of(left, right)


def test_negated_ranges_are_not_complemented() -> None:
    below = NumberRange(A, intervals("(, 1)"))
    assert optimize(Not(below)) == (Not(below), ())
    contradiction = all_of(below, NumberRange(A, intervals("(3, )")))
    assert optimize(Not(contradiction))[0] == TRUE


def test_bounds_of_text_numbers_count_as_doubles() -> None:
    between = TextNumberRange(A, intervals(f"({2**53}, {2**53 + 1})"))
    assert optimize(between)[0] == FALSE
    exact = NumberRange(A, intervals(f"({2**53}, {2**53 + 1})"))
    assert optimize(exact)[0] == exact


# ---------------------------------------------------------------------------------------------------------------------
# intervals

_bounds = st.sampled_from((0, 1, 2, 3, 0.5, 2**53, 2**53 + 1, 2**64 - 1, 1e300))
_intervals = st.builds(
    lambda lower, lower_closed, upper, upper_closed: interval("(,)")._replace(
        lower=lower,
        lower_closed=lower_closed and lower is not None,
        upper=upper,
        upper_closed=upper_closed and upper is not None,
    ),
    st.none() | _bounds,
    st.booleans(),
    st.none() | _bounds,
    st.booleans(),
)
_PROBES = (
    -1,
    0,
    0.25,
    0.5,
    0.75,
    1,
    1.5,
    2,
    2.5,
    3,
    4,
    2**53 - 1,
    2**53,
    2**53 + 1,
    2**63,
    2**64 - 1,
    2**64,
    1e300,
    1e301,
)


def _holds(number: float, found: tuple[object, ...]) -> bool:
    return any(number_in(number, each) for each in found)  # type: ignore[arg-type]


@given(st.lists(_intervals, max_size=6), st.lists(_intervals, max_size=6))
def test_union_and_intersection(left: list[object], right: list[object]) -> None:
    first, second = union(left), union(right)  # type: ignore[arg-type]
    common = intersection(first, second)
    for number in _PROBES:
        assert _holds(number, first) is _holds(number, tuple(left))
        assert _holds(number, common) is (_holds(number, first) and _holds(number, second))
    for found in (first, common):
        assert union(found) == found, "sorted, disjoint, not touching, none empty"


def test_touching_intervals() -> None:
    assert union(intervals("[2, 3]", "[1, 2)").values) == intervals("[1, 3]").values
    assert union(intervals("(1, 2]", "(2, 3)").values) == intervals("(1, 3)").values
    assert union(intervals("(1, 2)", "(2, 3)").values) == intervals("(1, 2)", "(2, 3)").values
    assert union(intervals("(, 2)", "[2, )").values) == intervals("(, )").values
    assert union(intervals("(2, 2)", "[3, 2]").values) == ()


# ---------------------------------------------------------------------------------------------------------------------
# size


def nested(depth: int) -> Expression:
    """And and Or by turns, ``depth`` levels deep, no two tests alike."""
    expression: Expression = eq(C, -1)
    for level in range(depth):
        kind = And if level % 2 else Or
        expression = kind(
            (NumberRange(Field(Role.METADATA, (f"f{level}",)), Intervals((interval("[1, 2]"),))), expression)
        )
    return expression


def test_deep_expressions() -> None:
    for expression in (nested(500), Not(nested(499))):
        after, _ = optimize(expression)
        assert len(list(leaves(after))) == len(list(leaves(expression)))


def test_deep_chains_are_joined() -> None:
    chain: Expression = eq(A, 0)
    for value in range(1, 150):
        chain = any_of(eq(A, value), Not(Not(chain)))
    assert optimize(chain)[0] == eq(A, *range(150))


def test_equal_deep_subtrees_are_found_without_comparing_deeply() -> None:
    assert optimize(all_of(nested(450), Not(nested(450))))[0] == FALSE


def test_too_deep_is_a_filter_error() -> None:
    with pytest.raises(FilterError) as caught:
        optimize(nested(2 * sys.getrecursionlimit()))
    assert caught.value.code == "too_deep"


def test_many_siblings() -> None:
    tests = tuple(NumberRange(Field(Role.METADATA, (f"f{i}",)), intervals("[1, 2]")) for i in range(2000))
    after, applied = optimize(Or((*tests, *tests)))
    assert after == Or(tests)
    assert applied == ("constant folding",)


def test_shared_subtrees_stay_shared() -> None:
    deep = all_of(Exists(A), eq(B, 1))
    again = all_of(Exists(A), eq(B, 1))
    after, _ = optimize(any_of(all_of(Not(deep), eq(C, 1)), all_of(Not(again), eq(C, 2))))
    assert after == all_of(Not(all_of(eq(B, 1), Exists(A))), eq(C, 1, 2))


def test_literals_become_the_two_constants() -> None:
    assert optimize(Literal(True))[0] is TRUE
    assert optimize(Literal(False))[0] is FALSE


def test_equal_expressions_become_one() -> None:
    one, other = (any_of(all_of(eq(A, 1), eq(B, 1)), all_of(eq(A, 2), eq(C, 1))) for _ in range(2))
    assert one is not other
    assert optimize(all_of(one, other))[0] == optimize(one)[0]
