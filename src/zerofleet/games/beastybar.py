"""Beasty Bar as text: the table, the meaning of moves, and what a turn does.

The person's animals are in upper case, the opponent's in lower case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zerofleet._core import OVER, Position

NAME = "beastybar"
CARDS_TO_OPEN = 5
"""The bar opens when the queue has this many cards."""


@dataclass(frozen=True)
class Species:
    strength: int
    points: int
    ability: str


SPECIES = {
    "lion": Species(12, 2, "goes to the front, monkeys flee; a second is bounced"),
    "hippo": Species(11, 2, "each turn: passes all weaker ahead, up to zebras"),
    "crocodile": Species(10, 3, "each turn: eats all weaker ahead, up to zebras"),
    "snake": Species(9, 2, "sorts the queue, the strongest to the front"),
    "giraffe": Species(8, 3, "each turn: steps over the one ahead, if weaker"),
    "zebra": Species(7, 4, "hippos cannot pass it, crocodiles are stopped by it"),
    "seal": Species(6, 2, "reverses the queue"),
    "chameleon": Species(5, 3, "does what an animal of your choice in the queue does"),
    "monkey": Species(4, 3, "with another: to the front, hippos, crocodiles flee"),
    "kangaroo": Species(3, 4, "hops over the last one or two, as you choose"),
    "parrot": Species(2, 4, "drives off one animal of your choice"),
    "skunk": Species(1, 4, "drives off the two strongest species, never skunks"),
}
"""Strongest first. A test compares strengths and points with the core's."""


# ---- cards


def species_of(card: str) -> str:
    """lion0 → lion"""
    return card[:-1]


def owner_of(card: str) -> int:
    return int(card[-1])


def shown(card: str, person: int) -> str:
    return species_of(card).upper() if owner_of(card) == person else species_of(card)


def listed(cards: Sequence[str], person: int) -> str:
    """lion, SEAL and zebra."""
    *first, last = (shown(card, person) for card in cards)
    return f"{', '.join(first)} and {last}" if first else last


def with_points(cards: Sequence[str], person: int) -> str:
    """lion 2, ZEBRA 4"""
    return ", ".join(f"{shown(card, person)} {SPECIES[species_of(card)].points}" for card in cards)


# ---- the table


def described(position: Position, player: int | None = None) -> dict[str, Any]:
    """What a player may see of the position, or everything."""
    return position.describe(player)


def table(position: Position, person: int) -> str:
    """The open cards, the sizes of hidden piles, and the person's hand with its abilities."""
    seen = described(position, person)
    hands, piles, points = seen["hands"], seen["piles"], seen["points"]
    opponent = 1 - person
    places = "   ".join(
        f"{place} {shown(card, person)}" for place, card in enumerate(seen["queue"])
    )
    lines = [
        f"queue      {f'{places}   (0 is the front)' if places else 'empty'}",
        f"bar        {with_points(seen['bar'], person) or 'empty'}",
        f"That's It  {', '.join(shown(card, person) for card in seen['thats_it']) or 'empty'}",
        f"opponent   {points[opponent]} points; cards: {hands[opponent]} in hand, "
        f"{piles[opponent]} in the pile",
        f"YOU        {points[person]} points; cards: {len(hands[person])} in hand, "
        f"{piles[person]} in the pile",
    ]
    if hands[person]:
        lines.append("your hand  strength points")
        for card in sorted(hands[person], key=lambda card: -SPECIES[species_of(card)].strength):
            lines.append(species_row(species_of(card), shown(card, person)))
    return "\n".join(lines)


def species_row(species: str, shown_as: str) -> str:
    """An animal with its strength, points and ability."""
    found = SPECIES[species]
    return f"  {shown_as:<12}{found.strength:>3}{found.points:>8}   {found.ability}"


def move_text(position: Position, action: int, person: int) -> str:
    """A move with the meaning of its numbers: parrot 1 → crocodile."""
    text = position.action_text(action)
    animal, *numbers = text.split()
    if not numbers:
        return text
    queue = described(position, person)["queue"]
    places = [int(number) for number in numbers]
    if animal == "chameleon":
        copied = queue[places.pop(0)]
        meaning = f"as {shown(copied, person)}"
        if places:
            meaning += f": {chosen_text(species_of(copied), places[0], queue, person)}"
        return f"{text} → {meaning}"
    return f"{text} → {chosen_text(animal, places[0], queue, person)}"


def chosen_text(animal: str, number: int, queue: Sequence[str], person: int) -> str:
    """The animals that a kangaroo hops over, or the one that a parrot expels."""
    if animal == "kangaroo":
        return f"over {listed(queue[-number:][::-1], person)}"
    return shown(queue[number], person)


# ---- a turn


def turn_lines(position: Position, action: int, person: int) -> list[str]:
    """Everything that an action does, in order."""
    queue = described(position, person)["queue"]
    lines: list[str] = []
    for step in position.steps(action):
        if step["step"] == "entry":
            queue = [*queue, step["animal"]]
        lines.extend(step_lines(step, queue, person))
        queue = step["queue"]
    return [*lines, f"queue: {' '.join(shown(card, person) for card in queue) or 'empty'}"]


def step_lines(step: dict[str, Any], before: list[str], person: int) -> Iterator[str]:
    """What one step did to the queue before it."""
    animal, after, gone = step["animal"], step["queue"], step["thats_it"]
    if step["step"] == "bar":
        gains = [
            sum(SPECIES[species_of(card)].points for card in step["bar"] if owner_of(card) == owner)
            for owner in (person, 1 - person)
        ]
        yield (
            f"five in the queue: {listed(step['bar'], person)} enter the bar "
            f"(you +{gains[0]}, opponent +{gains[1]})"
        )
        yield f"{listed(gone, person)} is bounced: it goes to That's It"
        return
    acts_as = step.get("as", species_of(animal))
    recurs = step["step"] == "recurring"
    name = f"{'recurring ' * recurs}{shown(animal, person)}"
    if "as" in step:
        name += f", as {acts_as},"
    if animal in gone:
        yield f"{name} is bounced: a lion is in the queue already"
        return
    if gone:
        verb = "eats" if acts_as == "crocodile" else "drives off"
        yield f"{name} {verb} {listed(gone, person)}"
    stayed = [card for card in before if card not in gone]
    if after != stayed:
        yield f"{name} {movement(acts_as, animal, stayed, after, person)}"
    elif not gone and not recurs:
        yield f"{name} stands at the back"


def movement(acts_as: str, animal: str, before: list[str], after: list[str], person: int) -> str:
    if acts_as == "snake":
        return "sorts the queue, the strongest to the front"
    if acts_as == "seal":
        return "reverses the queue"
    if acts_as == "monkey":
        return "leads the monkeys to the front"
    passed = before[after.index(animal) : before.index(animal)]
    verb = "hops over" if acts_as == "kangaroo" else "passes"
    front = ", to the front" if after[0] == animal else ""
    return f"{verb} {listed(passed[::-1], person)}{front}"


def drawn_card(before: Position, after: Position, person: int) -> str | None:
    """The card that the person drew in their turn."""
    held = described(before, person)["hands"][person]
    new = [card for card in described(after, person)["hands"][person] if card not in held]
    return species_of(new[0]).upper() if new else None


# ---- the end


def final_score(position: Position, person: int) -> str:
    """Both scores with their cards, and why the game is over."""
    seen = described(position, person)
    by_animals = position.game.options["scoring"] == "animals"
    lines = []
    for name, owner in (("YOU", person), ("opponent", 1 - person)):
        cards = [card for card in seen["bar"] if owner_of(card) == owner]
        score = f"{seen['points'][owner]} points"
        if by_animals:
            strength = sum(SPECIES[species_of(card)].strength for card in cards)
            score = f"{len(cards)} animals of strength {strength}"
        lines.append(f"{name:<9} {score}: {with_points(cards, person) or 'nobody entered'}")
    lines.append(why_over(position))
    return "\n".join(lines)


def why_over(position: Position) -> str:
    assert position.to_move == OVER
    everything = described(position)
    num_unplayed = sum(len(cards) for cards in (*everything["hands"], *everything["piles"]))
    if not num_unplayed:
        return "All cards are played."
    num_left = num_unplayed + len(everything["queue"])
    return (
        f"Only {num_left} cards are left in queue, hands and piles. The bar opens for "
        f"{CARDS_TO_OPEN}, so nobody can enter any more: unplayed cards count nothing."
    )
