"""``python -m benchmarks.sets.dungeons``: documents whose first keys select the value that is the label.

The documents follow ORiGAMi's generated set "dungeons". A corridor has rooms in random order. Each room has a number on
its door, a red, a blue and a green key to one of five treasures, and up to two monsters. The label is the treasure of
the key with the color ``key_color`` in the room with the number ``door``.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

TREASURES = ("diamonds", "gold", "artifacts", "spellbooks", "gemstones")
MONSTERS = ("goblin", "ogre", "rat", "troll", "wraith")
COLORS = ("red", "blue", "green")
TEST_SHARE = 0.2


def dungeons(rooms: Sequence[int], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield ``count`` rows of a document, its label and its split; the last fifth is the test set.

    Args:
        rooms: the numbers of rooms, of which each document has one.
        count: of documents.
        seed: of everything that is drawn.
    """
    random = Random(seed)
    first_tested = count - int(count * TEST_SHARE)
    for number in range(count):
        corridor = _corridor(random, random.choice(rooms))
        room = random.choice(corridor)
        color = random.choice(COLORS)
        tree = {"door": room["door_no"], "key_color": color, "corridor": corridor}
        split = "train" if number < first_tested else "test"
        yield {"tree": tree, "label": room[f"{color}_key"], "split": split}


def _corridor(random: Random, count: int) -> list[dict[str, Any]]:
    """Return the rooms of a document, in random order."""
    doors = list(range(count))
    random.shuffle(doors)
    corridor = []
    for door in doors:
        room: dict[str, Any] = {"door_no": f"d{door}"}
        for color in COLORS:
            room[f"{color}_key"] = random.choice(TREASURES)
        monsters = random.sample(MONSTERS, random.randint(0, 2))
        if monsters:
            room["monsters"] = monsters
        corridor.append(room)
    return corridor


def numbers_of_rooms(text: str) -> list[int]:
    """Return the numbers that a text lists, as in ``5-10`` or ``10,12,14``.

    Raises ``ValueError`` for other text, and for no room.
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    if not found or min(found) < 1:
        raise ValueError(f"rooms are {text!r}; give numbers from 1 on, as in 5-10 or 10,12,14")
    return found


def main(arguments: Sequence[str]) -> None:
    """Run the program's command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sets.dungeons", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--rooms", type=numbers_of_rooms, default="5-10", help="numbers of rooms, as 5-10 or 10,12,14 (default: 5-10)"
    )
    parser.add_argument("--count", type=int, default=10_000, help="number of documents (default: 10,000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    for row in dungeons(options.rooms, options.count, options.seed):
        print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1:])
