"""Values and texts that are nearly right."""
import copy

NAMES = ["a", "b", "n1", "nlp_job", "sw1", "r-1", "op-0", "1", "current", "u1", "root", "nobody", "a@b",
         "0123456789abcdef"]
HOSTILE_TEXT = ["", " ", "\x00", "../..", "'", '"; DROP TABLE nodes; --', "%s%n", "\ud800", "\u202e", "é" * 200,
                "x" * 5000, "=1+1", "-1", "NaN", "\r\nX-A: b", "1e999", "true", "null", "/", "~0~1", "#", "*"]
HOSTILE_VALUE = [None, True, -1, 0, 1, 2 ** 31, 2 ** 63, -2 ** 63 - 1, 2 ** 200, 1.5, 1e308, [], {}, [[]], "",
                 {"": ""}, [None] * 300, "0%", "100.01%", "1bps", "9" * 40 + "Gbps", "-1s"]


def mutate_text(rng, text, clean=False):
    """One edit. clean: nothing that would end a line."""
    at = rng.randrange(len(text) + 1)
    piece = rng.choice(HOSTILE_TEXT) if rng.random() < 0.4 else chr(rng.choice([0, 9, 10, 32, 37, 47, 65, 127, 233]))
    kind = rng.randrange(5)
    made = {0: text[:at] + piece + text[at:], 1: text[:at], 2: text[at:], 3: text + text[at:],
            4: text[:at] + piece + text[at + 1:]}[kind]
    if clean:
        made = "".join(c for c in made if " " < c < "\x7f" and c not in "?#")
    return made


def nodes(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, sub in items:
        yield from nodes(sub, (*path, key))


def get(value, path):
    for key in path:
        value = value[key]
    return value


def changed(rng, value, others):
    kind = rng.randrange(8)
    if kind == 0:
        other = rng.choice(others)
        return copy.deepcopy(get(other, rng.choice(list(nodes(other)))))
    if kind == 1:
        return rng.choice(HOSTILE_TEXT)
    if kind == 2 and isinstance(value, str):
        return mutate_text(rng, value)
    if kind == 3 and isinstance(value, int):
        return value + rng.choice([-1, 1, 100, 2 ** 40])
    if kind == 4 and isinstance(value, list):
        return value * rng.choice([0, 2, 40])
    if kind == 5 and isinstance(value, dict):
        return {**value, rng.choice(HOSTILE_TEXT): value}
    if kind == 6:
        for _ in range(rng.choice([1, 3, 70])):
            value = [value] if rng.random() < 0.5 else {"a": value}
        return value
    return copy.deepcopy(rng.choice(HOSTILE_VALUE))


def mutate_json(rng, value, others):
    """A copy with one change somewhere."""
    value = copy.deepcopy(value)
    path = rng.choice(list(nodes(value)))
    if not path:
        return changed(rng, value, others) if rng.random() < 0.3 else value
    parent = get(value, path[:-1])
    kind = rng.random()
    if kind < 0.25:
        del parent[path[-1]]
    elif kind < 0.35 and isinstance(parent, dict):
        parent[mutate_text(rng, str(path[-1]))] = parent.pop(path[-1])
    else:
        parent[path[-1]] = changed(rng, parent[path[-1]], others)
    return value
