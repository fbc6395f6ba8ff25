"""Every number of a heatmap is Python's ``float()`` of its text, bit for bit; what JSON does not write is refused."""

import gzip
import random
import struct
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Service, answer

import liqdata

COLUMNS = 50
HEAD = (
    '{"symbol":"BTC","range":"24h","model":2,"updatedAt":1790000000000,"currentPrice":1.5,'
    f'"times":[{",".join(str(1790000000000 + 60_000 * at) for at in range(COLUMNS))}],'
)
LARGEST = 1.7976931348623157e308


def digits(chance, most):
    """At least one digit, the first of several seldom a zero that JSON would not take."""
    text = "".join(chance.choices("0123456789", k=chance.randint(1, most)))
    return text.lstrip("0") or "0"


def bits(chance):
    return struct.unpack("<d", chance.randbytes(8))[0]


def between(value, towards):
    """All digits of the number exactly between a double and its neighbour."""
    return f"{(Decimal(value) + Decimal(float(np.nextafter(value, towards)))) / 2:f}"


def fraction(chance):
    return "".join(chance.choices("0123456789", k=chance.randint(1, 25)))


def near_middle(chance):
    """The middle between two doubles, or a number that differs from it far behind its last digit."""
    text = between(chance.uniform(1, 2) * 2.0 ** chance.randint(0, 40), LARGEST)
    return text + ("" if "." in text else ".") + "0" * chance.randint(0, 60) + chance.choice(["", "1"]) + "0"


WAYS = (
    lambda chance: repr(abs(bits(chance))),
    lambda chance: f"{abs(bits(chance)):.{chance.randint(0, 30)}e}",
    lambda chance: digits(chance, 40),
    lambda chance: f"{digits(chance, 19)}.{fraction(chance)}",
    lambda chance: f"{digits(chance, 3)}.{fraction(chance)}e{chance.choice(['', '+', '-'])}{chance.randint(0, 330)}",
    lambda chance: f"{digits(chance, 19)}E{chance.randint(-30, 30)}",
    # Below the smallest normal double.
    lambda chance: f"{digits(chance, 18)}e-{chance.randint(308, 345)}",
    lambda chance: chance.choice(["0", "0.0", "0e5", "0.000e-400", "0E+999999999999"]),
    lambda chance: between(chance.uniform(1, 2) * 2.0 ** chance.randint(-20, 60), chance.choice([0.0, LARGEST])),
    near_middle,
    lambda chance: f"{chance.uniform(0, 1e7):.{chance.randint(1, 4)}f}",
    lambda chance: f"0.{'0' * chance.randint(0, 40)}{digits(chance, 20)}",
)


def token(chance):
    """A number in one of the ways that are hard to read."""
    while True:
        text = chance.choice(["", "", "-"]) + chance.choice(WAYS)(chance)
        # Some of the random doubles are none; what is beyond the largest one is another test's.
        if abs(float(text)) <= LARGEST:
            return text


def body(cells):
    rows = [cells[at : at + COLUMNS] for at in range(0, len(cells), COLUMNS)]
    matrix = ",".join(f"[{','.join(row)}]" for row in rows)
    return f'{HEAD}"prices":[{",".join(map(str, range(len(rows))))}],"matrix":[{matrix}]}}'


def compare(matrix, tokens):
    wanted = np.array([float(text) for text in tokens])
    differ = np.flatnonzero(matrix.ravel().view(np.uint64) != wanted.view(np.uint64))
    assert not differ.size, [(tokens[at], matrix.ravel()[at], wanted[at]) for at in differ[:5]]


@pytest.mark.parametrize("seed", range(10))
def test_the_matrix_equals_the_floats_of_python(script, seed):
    chance = random.Random(seed)
    service = script(answer())
    with liqdata.Client(service.url) as client:
        for _ in range(4):
            tokens = [token(chance) for _ in range(COLUMNS * 20)]
            plain = body(tokens)
            quoted = body([f'"{text}"' for text in tokens])
            # All plain ones are read while they arrive, strings by the tolerant reader, zipped ones whole.
            for reply in (
                answer(plain),
                answer(quoted),
                answer(gzip.compress(plain.encode(), 1), content_encoding="gzip"),
            ):
                service.play(reply)
                compare(client.heatmap("BTC").matrix, tokens)


DIGITS = st.text("0123456789", min_size=1, max_size=40)
TOKENS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    DIGITS.map(lambda text: text.lstrip("0") or "0"),
    st.one_of(st.just(""), DIGITS.map(".{}".format)),
    st.one_of(st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), DIGITS)),
).filter(lambda text: abs(float(text)) <= LARGEST)


@pytest.fixture(scope="module")
def asked():
    """A function that asks for a heatmap of one row with these texts as cells."""
    with Service(answer()) as service, liqdata.Client(service.url) as client:

        def ask(tokens):
            service.play(answer(body([*tokens, *["0"] * (COLUMNS - len(tokens))])))
            return client.heatmap("BTC").matrix

        yield ask


@settings(deadline=None, max_examples=200)
@given(tokens=st.lists(TOKENS, min_size=1, max_size=COLUMNS))
def test_any_json_number_equals_the_float_of_python(asked, tokens):
    compare(asked(tokens), [*tokens, *["0"] * (COLUMNS - len(tokens))])


# float() takes all of these, or none; JSON none.
@pytest.mark.parametrize(
    "text",
    [
        "1_000",
        "+1",
        ".5",
        "5.",
        "01",
        "-01",
        "00",
        "1e",
        "1e+",
        "0x10",
        "inf",
        "-Infinity",
        "NaN",
        "\uff11",
        "1.5.2",
        "--1",
    ],
)
@pytest.mark.parametrize("quoted", [False, True])
def test_a_number_that_is_not_json_is_refused(asked, text, quoted):
    with pytest.raises(liqdata.UnexpectedReply) as caught:
        asked([f'"{text}"' if quoted else text])
    assert caught.value.path.startswith("matrix[0]"), caught.value.path


@pytest.mark.parametrize("text", ["1e400", "-1e309", "1.7976931348623159e308", "9" * 400, "1e99999999999999999999"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_number_beyond_the_largest_double_is_refused(asked, text, quoted):
    assert abs(float(text)) == float("inf")
    with pytest.raises(liqdata.UnexpectedReply) as caught:
        asked([f'"{text}"' if quoted else text])
    assert caught.value.path.startswith("matrix[0]"), caught.value.path
