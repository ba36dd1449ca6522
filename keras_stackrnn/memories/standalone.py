"""Memories for programs that stand alone: this file's text is a part of them.

They do as `simulation.py` says, without a bound, and import nothing.
"""

EMPTY = -1


class ZipperMemory:
    """The element under the head, and a pile on either side of it, nearest element last."""

    def __init__(self, actions, sides):
        # What a pile to the left gains, what one to the right gains, what is under the head
        # afterwards, and whether the value is written before anything moves.
        self.actions = actions
        self.sides = sides  # those with elements, in the order in which they are read
        self.head = EMPTY
        self.piles = {"left": [], "right": []}

    def act(self, action, value):
        left, right, head, writes = self.actions[action]
        old = value if writes else self.head
        after = {"value": value, "stays": old}
        after.update((side, pile[-1] if pile else EMPTY) for side, pile in self.piles.items())
        for side, gain in (("left", left), ("right", right)):
            if gain > 0:
                self.piles[side].append(old)
            elif gain < 0 and self.piles[side]:
                self.piles[side].pop()
        self.head = after[head]

    def read(self, place):
        if place == 0:
            return self.head
        distance, side = divmod(place - 1, len(self.sides))
        pile = self.piles[self.sides[side]]
        return pile[-1 - distance] if distance < len(pile) else EMPTY


class QueueMemory:
    """Elements one after another, and how many of them are gone."""

    def __init__(self):
        self.elements = []
        self.gone = 0

    def act(self, action, value):
        if action == "ENQUEUE":
            self.elements.append(value)
        elif action == "DEQUEUE" and self.gone < len(self.elements):
            self.gone += 1

    def read(self, place):
        place += self.gone
        return self.elements[place] if place < len(self.elements) else EMPTY
