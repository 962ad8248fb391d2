"""Many JSON texts behind each other: a key is searched for over all of them, and its value is what Python finds."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import oracle
import pyarrow as pa
import pytest
import running

from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler import expr
from fastfilter.values import Elements, Interval, ScalarSet

KEYS = [
    "a", "score", "sevenby", "eight by", "sixteen by", "seventeen bytes", "x" * 61, "x" * 62, "y" * 90, "é",
    " a", ",", "", "}", "]", ":", 'q"', "b\\", "\t",
]  # fmt: skip
"""Names around the lengths that are compared in one go, and some that, when found, are no sure sign of a string."""


def field(*path: str) -> Field:
    """A place in the metadata."""
    return Field(Role.METADATA, path)


def documents(key: str, rng: random.Random) -> Iterator[bytes]:
    """Objects in which the key stands where it counts, where it does not, twice, or in another spelling."""
    name = json.dumps(key, ensure_ascii=False)
    escaped = '"' + "".join(f"\\u{ord(letter):04x}" for letter in key) + '"'
    value = rng.choice(["1", "2", "0.5", "null", '"v"', '"2"', "[1]", '{"b":2}', "true", "-1e0", '"\\u0076"', '"\\\\"'])
    other = rng.choice(["1", "2", "null", '"v"', "[]", "{}"])
    filling = '"f":"' + "z" * rng.randrange(140) + '"'
    colon = rng.choice([":", ": ", " :", "\t:\n"])
    for text in (
        f"{{{name}{colon}{value}}}",
        f"{{{filling},{name}{colon}{value}}}",
        f"{{{name}{colon}{value} ,{filling}}}",
        f"{{{name}{colon}{value},{filling},{name}{colon}{other}}}",
        f'{{"f":{{{name}:{other}}},{filling},{name}{colon}{value}}}',
        f'{{{name}{colon}{value},{filling},"f":[[{{{name}:{other}}}]]}}',
        f'{{"f":{name},{name}{colon}{value},"g":[{name}]}}',
        f'{{{filling},"f":{name}}}',
        f'{{"f":"{{[","g":{{{name}:1}},"h":"]}}"}}',
        f'{{{name}:{value},"f":"{{[{{",{filling}}}',
        f'{{"s":[{",".join([f"{{{name}:{other}}}"] * rng.randrange(8))}],{name}:{value},{filling}}}',
        f"{{{name}:{other},{escaped}:{value},{filling}}}",
        f'{{{name}:{value},"f":"\\\\","g":"\\""}}',
        f"[{{{name}:{value}}}]",
        f'{{"f":{{{name}:{value}}}}}',
        "{}",
        "",
    ):
        yield text.encode()


def damaged(text: bytes, rng: random.Random) -> bytes:
    """The text, cut off, or with a byte or two taken out, put in or changed."""
    for _ in range(rng.randrange(3)):
        at, byte = rng.randrange(len(text) + 1), rng.choice(b'"\\{}[]:, \n\x00019.-eEtu\x80\xc3\xff')
        text = rng.choice(
            [text[:at], text[:at] + text[at + 1 :], text[:at] + bytes([byte]) + text[at + rng.randrange(2) :]]
        )
    return text


def leaves(place: Field) -> list[expr.Expression]:
    """One condition of each kind that reads a value in another way."""
    return [
        expr.Exists(place),
        expr.IsNull(place),
        expr.EqualsAny(place, ScalarSet(numbers=(1, 2), strings=("v",)), Elements.ALSO),
        expr.EqualsAny(place, ScalarSet(strings=("v",)), Elements.ALSO),
        expr.NumberRange(place, expr.Intervals((Interval(-1, True, 1, True),))),
        expr.TextEqualsAny(place, expr.Strings(("v",))),
        expr.TextEqualsAny(place, expr.Strings(("2", "[1]", '{"b": 2}'))),
        expr.TextNumberRange(place, expr.Intervals((Interval(1, True, 2, True),))),
        expr.JsonContains(place, expr.Json("[1]")),
        expr.JsonContains(place, expr.Json('{"b":2}')),
    ]


def agree(expression: expr.Expression, texts: list[bytes | None], type: pa.DataType) -> None:
    """The native machine finds what the oracle finds; without validation, on the texts that are well-formed."""
    binary = pa.large_binary() if type == pa.large_string() else pa.binary()
    batch = pa.record_batch({"metadata": pa.array(texts, binary).view(type)})
    want = oracle.evaluate_batch(expression, batch)
    assert running.outcome(running.filter_of(expression), batch, "native") == want, expression
    good = batch.filter(pa.array([text is not None and well_formed(text) for text in texts]))
    trusting = running.filter_of(expression, json="trusted")
    assert running.outcome(trusting, good, "native") == oracle.evaluate_batch(expression, good), expression
    assert isinstance(running.outcome(trusting, batch, "native"), list)


def well_formed(text: bytes) -> bool:
    """Whether the oracle reads it."""
    try:
        oracle.parse_json(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("type", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("key", KEYS)
def test_one_key_in_many_rows(key: str, type: pa.DataType) -> None:
    rng = random.Random(key)
    texts: list[bytes | None] = []
    for _ in range(5):
        for text in documents(key, rng):
            texts += [text, damaged(text, rng), None if rng.random() < 0.1 else b" " * rng.randrange(70) + text]
    for leaf in leaves(field(key)):
        agree(leaf, texts, type)
        agree(leaf, texts[7:9], type)
    few = leaves(field(key))
    agree(expr.And((few[0], few[4], expr.Exists(field("f")))), texts, type)
    agree(expr.Or((few[2], few[5], expr.Exists(field("g", key)))), texts, type)
    agree(expr.And((expr.Exists(field("f")), expr.Not(few[2]))), texts, type)
    agree(expr.And((few[3], expr.Exists(field("f", key)), expr.Exists(field("f")))), texts, type)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 1.0])
def test_rows_that_are_asked_alone_or_together(share: float) -> None:
    """Where few rows of 64 are left, each is searched for itself."""
    rng = random.Random(share)
    texts = [
        json.dumps(
            {"kind": "k" if rng.random() < share else "other", "a": rng.randrange(3), "f": "z" * (row % 67)}
        ).encode()
        for row in range(500)
    ]
    texts = [damaged(text, rng) if row % 5 == 0 else text for row, text in enumerate(texts)]
    kind = expr.EqualsAny(field("kind"), ScalarSet(strings=("k",)), Elements.NEVER)
    number = expr.EqualsAny(field("a"), ScalarSet(numbers=(1,)), Elements.NEVER)
    for expression in (
        kind,
        number,
        expr.And((kind, number)),
        expr.Or((kind, number)),
        expr.Not(expr.And((kind, number))),
    ):
        agree(expression, list(texts), pa.string())


@pytest.mark.parametrize("shares", [(0.02, 0.3, 0.9), (0.9, 0.3, 0.02), (0.5, 0.5, 0.5)], ids=str)
def test_conditions_that_must_all_be_true_are_searched_for_in_any_order(shares: tuple[float, float, float]) -> None:
    """What each must have is looked for first, whatever the conditions' order; in other spellings and places too."""
    rng = random.Random(str(shares))
    texts: list[bytes | None] = []
    for row in range(1500):
        members = [f'"n":{rng.randrange(3)}', '"f":"' + "z" * (row % 53) + '"']
        for name, share in zip("abc", shares, strict=True):
            present = rng.random() < share
            word = rng.choice(
                ['"word-%s"', '["word-%s"]', '"\\u0077ord-%s"', '"word-%s "'] if row % 3 else ['"word-%s"']
            )
            members.append(f'"{name if row % 11 else "d"}":{word % (name if present else "z")}')
        rng.shuffle(members)
        text = ("{" + ",".join(members) + "}").encode()
        texts.append(None if row % 97 == 0 else damaged(text, rng) if row % 7 == 0 else text)
    equal = [expr.TextEqualsAny(field(name), expr.Strings((f"word-{name}",))) for name in "abc"]
    held = [expr.JsonContains(field(name), expr.Json(f'["word-{name}"]')) for name in "abc"]
    number = expr.NumberRange(field("n"), expr.Intervals((Interval(1, True, 2, True),)))
    for expression in (
        expr.And((*equal,)),
        expr.And((number, equal[2], held[1], equal[0])),
        expr.And((held[1], held[0], number)),
        expr.And(
            (expr.Exists(field("n")), held[2], held[1], expr.Exists(field("f")), equal[0], expr.Exists(field("a")))
        ),
        expr.And((expr.Or((equal[0], number)), equal[1], held[2])),
        expr.And((equal[1], expr.Not(held[0]), equal[2])),
    ):
        agree(expression, texts, pa.string())
        agree(expression, texts[5:80], pa.large_string())


def test_a_needle_made_to_be_compared_in_vain() -> None:
    """The search gives up, and the rows behind are looked at in another way."""
    key = "aaaaaaaaaaaaaaaab" * 3
    almost = ("a" * 50).encode()
    texts: list[bytes | None] = [
        b'{"f":"' + almost * 40 + b'","%s":%d}' % (key.encode(), row % 3) for row in range(130)
    ]
    agree(expr.EqualsAny(field(key), ScalarSet(numbers=(1,)), Elements.NEVER), texts, pa.string())


def test_numbers_that_are_none_do_no_harm() -> None:
    """A number that is malformed is read before the text is validated."""
    rng = random.Random(5)
    texts: list[bytes | None] = []
    for _ in range(600):
        number = bytes(rng.choice(b"0123456789.eE+-x\x80/:") for _ in range(rng.randrange(1, 30)))
        texts.append(b'{"a":' + number + rng.choice([b"}", b',"b":1}', b""]))
    texts += [b'{"a":1e%s' % (sign * 40) for sign in (b"-", b"/", b"9", b"\xff")]
    for leaf in leaves(field("a")):
        agree(leaf, texts, pa.string())
