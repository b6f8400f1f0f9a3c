"""Prices of an installation: the table, and which price holds for a name."""

import pytest

from model.prices import PriceError, Prices, read_prices

TABLE = "per,price,currency,name\nmsu,1200,EUR,\nmsu,1100.5,EUR,PRDA\ncpu_hour,30,EUR,PRDB\n"


def test_the_price_of_the_most_specific_name_holds():
    prices = read_prices(TABLE, "prices.csv")
    assert prices.of("msu", "prda", "CEC1").price == 1100.5
    assert prices.of("msu", "PRDB", "CEC1").price == 1200
    assert prices.of("cpu_hour", "PRDA") is None
    assert (prices.currency, Prices().currency, Prices().of("msu", "PRDA")) == ("EUR", "", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("per,price\nmsu,1\n", "no column currency"),
        ("per,price,currency\nmips,1,EUR\n", "line 2: per is 'mips', and should be msu or cpu_hour"),
        ("per,price,currency\nmsu,-1,EUR\n", "should be a number from 0 on"),
        ("per,price,currency\nmsu,nan,EUR\n", "should be a number from 0 on"),
        ("per,price,currency\nmsu,1,\n", "names no currency"),
        ("per,price,currency\nmsu,1,EUR\ncpu_hour,1,USD\n", "line 3: is in USD, the lines before in EUR"),
        ("per,price,currency,name\nmsu,1,EUR,A\nmsu,2,EUR,a\n", "line 3: is the second price per msu of a"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_its_line(text, expected):
    with pytest.raises(PriceError) as raised:
        read_prices(text, "prices.csv")
    assert expected in str(raised.value)
