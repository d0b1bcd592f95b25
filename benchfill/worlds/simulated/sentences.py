"""The sentences items are told in: one family a setting, several wordings for every kind of step.

``{n}`` is the operand of a step; ``{a}`` and ``{b}`` are the two factors of a product; the other slots are
words of the family. Within a family no sentence can be read as two kinds of step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["EXPRESSION", "EXPRESSION_FRAMES", "FAMILIES", "Family"]


@dataclass(frozen=True, slots=True)
class Family:
    """A setting of items.

    Parameters
    ----------
    name
        Stable name.
    reading
        Logits that every step is harder for having to be understood from prose.
    words
        Slot to the words that may stand in it.
    sentences
        ``start``, the six kinds of step and ``ask``, each to its wordings.
    """

    name: str
    reading: float
    words: Mapping[str, tuple[str, ...]]
    sentences: Mapping[str, tuple[str, ...]]


EXPRESSION = "expression"
EXPRESSION_FRAMES = (
    "Compute {e}.",
    "What is {e}?",
    "Evaluate {e}.",
    "Work out the value of {e}.",
    "Find the exact value of {e}.",
    "Which whole number equals {e}?",
)

_WHO = ("Amina", "Bruno", "Chiara", "Deniz", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Katya", "Lars",
        "Mei", "Nadia", "Oskar", "Priya", "Rosa", "Samir", "Tomas", "Wanda")  # fmt: skip
_PLACE = ("Riga", "Porto", "Bergen", "Lyon", "Gdansk", "Tartu", "Bilbao", "Graz", "Malmo", "Split", "Ghent",
          "Cork")  # fmt: skip

_MACHINE = Family(
    "machine",
    0.1,
    {},
    {
        "start": ("Start with {n}.", "Write down the number {n}.", "A number machine is fed with {n}."),
        "add": ("Add {n}.", "Increase the result by {n}.", "Now put {n} on top of it."),
        "sub": ("Subtract {n}.", "Decrease the result by {n}.", "Now take {n} away from it."),
        "mul": ("Multiply by {n}.", "Make the result {n} times as large.", "Now take it {n} times."),
        "div": ("Divide by {n}.", "Cut the result into {n} equal parts and keep one of them."),
        "addprod": ("Add the product of {a} and {b}.", "Increase the result by {a} times {b}."),
        "subprod": ("Subtract the product of {a} and {b}.", "Decrease the result by {a} times {b}."),
        "ask": ("What number do you get?", "Which number stands at the end?", "What is the final result?"),
    },
)

_WAREHOUSE = Family(
    "warehouse",
    0.2,
    {
        "place": _PLACE,
        "thing": ("bottles", "tiles", "cables", "helmets", "lamps", "notebooks", "batteries", "kettles"),
    },
    {
        "start": (
            "A warehouse in {place} holds {n} {thing}.",
            "On Monday morning there are {n} {thing} in the stores of {place}.",
            "The depot at {place} begins the week with {n} {thing} on its shelves.",
        ),
        "add": (
            "A lorry brings {n} more {thing}.",
            "A further {n} {thing} arrive by rail.",
            "Another depot hands over {n} {thing}.",
        ),
        "sub": (
            "A customer collects {n} {thing}.",
            "Next, {n} {thing} are sent out to shops.",
            "An inspection removes {n} damaged {thing}.",
        ),
        "addprod": (
            "A delivery of {a} crates with {b} {thing} each comes in.",
            "Then {a} pallets arrive, and every pallet carries {b} {thing}.",
            "From a ship, {a} boxes of {b} {thing} each are unloaded.",
        ),
        "subprod": (
            "For an order, {a} crates with {b} {thing} each leave the building.",
            "On the same day {a} shops are supplied with {b} {thing} each.",
            "Then {a} vans drive off, and every van takes {b} {thing}.",
        ),
        "mul": (
            "By the next stocktaking the number of {thing} has become {n} times as large.",
            "During the season the stock grows to {n} times its size.",
            "After a merger the stock is {n} times what it was.",
        ),
        "div": (
            "The stock is divided equally among {n} halls, and from here on only one of these halls is counted.",
            "All {thing} are sorted into {n} equal lots, and every lot but one is sold.",
        ),
        "ask": (
            "How many {thing} are left in the end?",
            "How many {thing} are there now?",
            "What is the final number of {thing}?",
        ),
    },
)

_SHOP = Family(
    "shop",
    0.2,
    {
        "who": _WHO,
        "shop": ("bakery", "bookshop", "flower shop", "bicycle shop", "toy shop", "hardware store"),
        "goods": ("a voucher", "a gift box", "a repair", "a basket", "a course", "a subscription"),
    },
    {
        "start": (
            "{who} opens the till of a {shop} with {n} euros in it.",
            "The account of a {shop} stands at {n} euros.",
            "{who} starts a {shop} with a capital of {n} euros.",
        ),
        "add": (
            "A refund of {n} euros is paid in.",
            "A regular customer settles a bill of {n} euros.",
            "The town adds a grant of {n} euros.",
        ),
        "sub": (
            "The rent of {n} euros is paid.",
            "An invoice over {n} euros has to be settled.",
            "A new shelf costs {n} euros.",
        ),
        "addprod": (
            "In the morning {a} customers buy {goods} for {b} euros each.",
            "A school orders {a} sets at a price of {b} euros a set.",
            "Online, {a} people pay {b} euros each for {goods}.",
        ),
        "subprod": (
            "Wages are paid to {a} helpers, {b} euros to each of them.",
            "For the stockroom {a} parcels are bought at {b} euros a parcel.",
            "Advertising runs for {a} days at {b} euros a day.",
        ),
        "mul": (
            "A good year makes the balance {n} times as large.",
            "By the end of the season the money has grown to {n} times its amount.",
        ),
        "div": (
            "The money is shared equally by {n} partners, and from here on we follow one partner's share.",
            "The balance is spread evenly over {n} accounts, and from here on only one of them is looked at.",
        ),
        "ask": (
            "How many euros are there now?",
            "How much money is it in the end, in euros?",
            "What is the final balance in euros?",
        ),
    },
)

_TRIP = Family(
    "trip",
    0.25,
    {"who": _WHO, "way": ("by bicycle", "on foot", "by boat", "on horseback", "by sledge")},
    {
        "start": (
            "{who} has covered {n} kilometres {way} so far.",
            "The travel log of {who} shows {n} kilometres at the start of spring.",
            "So far a journey {way} has taken {who} over {n} kilometres.",
        ),
        "add": (
            "The next stage is {n} kilometres long.",
            "A detour along the coast adds {n} kilometres.",
            "On Sunday another {n} kilometres are covered.",
        ),
        "sub": (
            "A wrong entry of {n} kilometres is struck from the log.",
            "Of these, {n} kilometres were covered by train and do not count.",
        ),
        "addprod": (
            "For {a} days the party covers {b} kilometres a day.",
            "Then follow {a} stages of {b} kilometres each.",
            "A loop of {b} kilometres is completed {a} times.",
        ),
        "subprod": (
            "On {a} days {b} kilometres a day were logged twice and have to be taken off.",
            "The referee cancels {a} stages of {b} kilometres each.",
        ),
        "mul": (
            "On the return of the whole club the total is {n} times as long.",
            "Counted for all {n} members of the team together, the distance is that many times as long.",
        ),
        "div": (
            "The distance is shared equally by a relay of {n}, and from here on one runner's share is meant.",
            "It was covered in {n} equal parts, and from here on only one part is considered.",
        ),
        "ask": (
            "How many kilometres is that in the end?",
            "What distance in kilometres does the log show now?",
            "How many kilometres remain on record?",
        ),
    },
)

_ORCHARD = Family(
    "orchard",
    0.2,
    {"place": _PLACE, "fruit": ("apples", "pears", "plums", "cherries", "lemons", "walnuts")},
    {
        "start": (
            "An orchard near {place} has picked {n} kilograms of {fruit}.",
            "A farm cooperative in {place} stores {n} kilograms of {fruit}.",
            "At dawn the barn outside {place} contains {n} kilograms of {fruit}.",
        ),
        "add": (
            "A neighbour contributes {n} kilograms.",
            "The late harvest yields {n} kilograms more.",
        ),
        "sub": (
            "A cider press uses up {n} kilograms.",
            "Frost spoils {n} kilograms.",
            "At the market {n} kilograms are sold.",
        ),
        "addprod": (
            "Volunteers fill {a} baskets with {b} kilograms each.",
            "From {a} rows of trees come {b} kilograms a row.",
            "A cart makes {a} trips and brings {b} kilograms on every trip.",
        ),
        "subprod": (
            "A jam factory fetches {a} sacks of {b} kilograms each.",
            "The kitchen of a school needs {b} kilograms on each of {a} days.",
        ),
        "mul": (
            "Over the years the yield rises to {n} times this amount.",
            "With the fields of the whole valley it is {n} times as much.",
        ),
        "div": (
            "Everything is split evenly among {n} families, and from here on only one family's part matters.",
            "It is packed into {n} equal containers, and all of them except one are shipped.",
        ),
        "ask": (
            "How many kilograms of {fruit} are there in the end?",
            "What weight of {fruit} in kilograms is left?",
            "How many kilograms is that now?",
        ),
    },
)

_CARDS = Family(
    "cards",
    0.15,
    {"who": _WHO, "piece": ("stamps", "stickers", "marbles", "postcards", "badges", "shells", "coins")},
    {
        "start": (
            "{who} owns {n} {piece}.",
            "In an old suitcase {who} finds {n} {piece}.",
            "The collection of {who} consists of {n} {piece}.",
        ),
        "add": (
            "A cousin gives away {n} {piece}, which join the collection.",
            "At a fair {n} {piece} are bought.",
            "A birthday brings {n} more {piece}.",
        ),
        "sub": (
            "On a rainy day {n} {piece} get lost.",
            "A friend receives {n} {piece} as a present.",
        ),
        "addprod": (
            "An auction adds {a} albums with {b} {piece} in each.",
            "Over the summer {a} packets are opened, each holding {b} {piece}.",
            "For {a} weeks the collection gains {b} {piece} a week.",
        ),
        "subprod": (
            "Later {a} children are given {b} {piece} each.",
            "A museum borrows {a} cases with {b} {piece} in each.",
        ),
        "mul": (
            "Years later the collection is {n} times as big.",
            "A lucky purchase turns this into {n} times as many.",
        ),
        "div": (
            "The {piece} are laid out in {n} equal piles, and all piles except one are traded away.",
            "They are divided fairly among {n} cousins, and from here on we count what one cousin has.",
        ),
        "ask": (
            "How many {piece} is that in the end?",
            "How many {piece} are in the collection now?",
            "What is the number of {piece} at last?",
        ),
    },
)

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (_CARDS, _MACHINE, _ORCHARD, _SHOP, _TRIP, _WAREHOUSE)
}
