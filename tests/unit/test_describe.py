"""Expressions in words."""

from __future__ import annotations

import pytest
from expression_cases import ISO, MOMENT, A, all_of, any_of, expressions, read
from hypothesis import given

import fastfilter
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.describe import describe
from fastfilter.compiler.expr import Exists, Expression, Not


def test_tree() -> None:
    expression = all_of(
        read("eq(b, 1)"), Not(any_of(read("exists(a)"), read("icontains(c, 'x')"))), any_of(), all_of(), read("false")
    )
    assert describe(expression) == (
        "all of\n"
        "  b is one of {1}  (false on MISSING, NULL, ARRAY, OBJECT; kind and value are equal)\n"
        "  not\n"
        "    any of\n"
        "      metadata.a is there  (false on MISSING and NULL, true on every other kind)\n"
        '      metadata.c.d contains, ignoring case, "x"'
        "  (false on MISSING and NULL; in a STRING, or equal to an element of an ARRAY, all lower-cased)\n"
        "  no row\n"
        "  every row\n"
        "  no row"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("is_null(a)", "metadata.a is null  (true on NULL, false on MISSING and every other kind)"),
        ("within(a, 1, None_)", "metadata.a or an element of it is one of {null, 1}  (false on MISSING, NULL, OBJECT;"),
        ("element(a, 'x')", 'metadata.a has an element that is one of {"x"}  (false on all that is no ARRAY;'),
        (f"eq(b, instants=('{ISO}',))", f"b is one of {{{ISO}}}  (false on MISSING, NULL, ARRAY, OBJECT;"),
        ("number(a, '[1, 2)', '(3, )')", "metadata.a is a number >= 1 and < 2 or > 3  (false on MISSING, NULL"),
        (f"instant(b, '(, {MOMENT}]')", f"b is an instant <= {ISO}  (false on MISSING, NULL"),
        ("string(b, 'lte', 'x')", 'b is a string <= "x"  (false on MISSING, NULL'),
        ("contains(b, 'x')", 'b contains "x"  (false on MISSING and NULL;'),
        ("text(a, 'x')", 'metadata.a as text is one of {"x"}  (false on MISSING and NULL;'),
        ("text_number(a, '[5, 5]')", "metadata.a as text is a number = 5  (false on MISSING, NULL"),
        ("json(a, '[1]')", "metadata.a contains the JSON [1]  (false on MISSING, NULL is a value;"),
    ],
)
def test_test_in_words(text: str, words: str) -> None:
    assert describe(read(text)).startswith(words)


@given(expression=expressions())
def test_one_line_for_each_part(expression: Expression) -> None:
    assert all(line.strip() for line in describe(expression).split("\n"))


def test_a_key_of_the_metadata_with_the_name_of_a_built_in_field_is_pointed_out() -> None:
    for filter in ({"importance": 0.9}, {"content": None}):
        (key,) = filter
        assert f"not the built-in field {key}" in fastfilter.compile(filter).explain()
    for other in ({"channel": 0.9}, {"field": "importance", "operator": "eq", "value": 0.9}):
        assert "built-in" not in fastfilter.compile(other).explain()


def test_odd_names_stay_on_one_line() -> None:
    assert describe(Exists(Field(Role.METADATA, ("a\nb",)))).startswith('"metadata.a\\nb" is there')


def test_deep_expressions() -> None:
    expression: Expression = Exists(A)
    for _ in range(2000):
        expression = Not(expression)
    assert len(describe(expression).split("\n")) == 2001
