"""Linear expressions of whole numbers that are 0 or more, and what is known of them for certain."""

import dataclasses


class UndecidedError(Exception):
    """Whether something holds depends on the numbers: it is to be looked at case by case.

    Attributes:
        cases: Each is a substitution of expressions for names; together they are all there are.
    """

    def __init__(self, cases: "list[dict[str, Number]]"):
        super().__init__()
        self.cases = cases


class NotLinearError(Exception):
    """Unknown numbers were multiplied."""


@dataclasses.dataclass(frozen=True)
class Linear:
    """`constant`, and for each name, which stands for any number from 0 up, so many times it.

    What comes out of arithmetic without any name in it is a plain number.
    """

    constant: int
    terms: tuple[tuple[str, int], ...]

    @classmethod
    def name(cls, name: str) -> "Linear":
        return cls(0, ((name, 1),))

    def __add__(self, other: "Number") -> "Number":
        factors = dict(self.terms)
        constant = other
        if isinstance(other, Linear):
            constant = other.constant
            for name, factor in other.terms:
                factors[name] = factors.get(name, 0) + factor
        terms = tuple(sorted((name, factor) for name, factor in factors.items() if factor))
        constant = self.constant + int(constant)
        return Linear(constant, terms) if terms else constant

    __radd__ = __add__

    def __mul__(self, factor: int) -> "Number":
        if isinstance(factor, Linear):
            raise NotLinearError
        if not factor:
            return 0
        factor = int(factor)
        return Linear(
            self.constant * factor, tuple((name, each * factor) for name, each in self.terms)
        )

    __rmul__ = __mul__

    def __neg__(self) -> "Linear":
        return self * -1

    def __sub__(self, other: "Number") -> "Number":
        return self + -other

    def __rsub__(self, other: "Number") -> "Number":
        return -self + other

    def __str__(self) -> str:
        words = [name if factor == 1 else f"{factor} {name}" for name, factor in self.terms]
        return " + ".join([*words, *([str(self.constant)] if self.constant else [])])


Number = int | Linear


def substituted(number: Number, values: dict[str, Number]) -> Number:
    """A number with expressions in place of names."""
    if not isinstance(number, Linear):
        return number
    result = number.constant
    for name, factor in number.terms:
        result = result + values.get(name, Linear.name(name)) * factor
    return result


def at_least(number: Number, bound: int) -> bool:
    """Whether a number is `bound` or more; raises if that is not the same in all cases."""
    if not isinstance(number, Linear):
        return number >= bound
    spare, factors = number.constant - bound, [factor for _, factor in number.terms]
    if spare >= 0 and min(factors) > 0:
        return True
    if spare < 0 and max(factors) < 0:
        return False
    raise UndecidedError(_cases(number))


def divided(number: Number, divisor: int) -> Number:
    """A number over `divisor`, rounded down; raises if that is not the same in all cases."""
    if not isinstance(number, Linear):
        return number // divisor
    for name, factor in number.terms:
        if factor % divisor:
            each = Linear.name(name)
            raise UndecidedError([{name: each * divisor + rest} for rest in range(divisor)])
    terms = tuple((name, factor // divisor) for name, factor in number.terms)
    return Linear(number.constant // divisor, terms)


def _cases(number: Linear) -> list[dict[str, Number]]:
    above = [name for name, factor in number.terms if factor > 0]
    below = [name for name, factor in number.terms if factor < 0]
    if above and below:
        # Which of the two is larger, and by how much?
        one, other = Linear.name(above[0]), Linear.name(below[0])
        return [{above[0]: one + other}, {below[0]: one + other + 1}]
    name = (above or below)[0]
    return [{name: 0}, {name: Linear.name(name) + 1}]
