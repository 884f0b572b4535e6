"""JSON documents as people have them, and documents that are drawn."""

from random import Random
from typing import Any


def pod(random: Random) -> dict[str, Any]:
    """A manifest of Kubernetes: ports are numbers or names, labels may be absent, ``spec`` is on the path twice."""
    container: dict[str, Any] = {"name": "web", "image": f"app:{random.randint(1, 9)}.{random.randint(0, 9)}"}
    if random.random() < 0.7:
        container["ports"] = [{"containerPort": random.choice([80, 443, "http"])}]
    container["resources"] = random.choice([{}, {"limits": {"cpu": "500m", "memory": "1Gi"}}])
    metadata = {"name": f"web-{random.randrange(10**6):06d}", "labels": random.choice([None, {"tier": "front"}])}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": random.randint(1, 5), "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def package(random: Random) -> dict[str, Any]:
    """A package of npm: its repository is a text or an object, its dependencies are a map."""
    repository = random.choice(["github:ann/left", {"type": "git", "url": "https://example.org/left.git"}])
    dependencies = {f"lib-{random.randrange(5000)}": f"^{random.randint(0, 9)}.0.0" for _ in range(20)}
    found = {"name": f"left-{random.randrange(99)}", "version": "1.0.0", "repository": repository}
    return {**found, "dependencies": dependencies, "scripts": {"test": "node test.js"}}


def log_record(random: Random) -> dict[str, Any]:
    """A line of a log: a time, a level, a message of several words, a status that is a code, a duration."""
    user = random.choice(["ann", "bob", "cem"])
    messages = [f"user {user} logged in", f"timeout after {random.randint(1, 99)} s", "could not open socket"]
    return {
        "id": f"{random.getrandbits(64):016x}",
        "time": f"2026-11-{random.randint(10, 28)}T12:00:00Z",
        "level": random.choice(["INFO", "WARN"]),
        "message": " ".join(random.sample(messages, 2)),
        "http": {"status": random.choice([200, 404, 500]), "ms": round(random.uniform(1, 900), 1)},
    }


def feature(random: Random) -> dict[str, Any]:
    """A feature of GeoJSON: a longitude and a latitude, in this order."""
    at = [round(random.uniform(5, 15), 3), round(random.uniform(45, 55), 3)]
    properties = {"name": random.choice(["bench", "tree"]), "height": random.choice([None, 2.5])}
    return {"type": "Feature", "geometry": {"type": "Point", "coordinates": at}, "properties": properties}


def plan(random: Random, depth: int = 0) -> dict[str, Any]:
    """A query plan of PostgreSQL, whose nodes nest to any depth."""
    node: dict[str, Any] = {"Node Type": random.choice(["Hash Join", "Sort", "Seq Scan"])}
    node["Total Cost"] = round(random.uniform(1, 1e5), 2)
    if depth < 6 and random.random() < 0.7:
        node["Plans"] = [plan(random, depth + 1) for _ in range(random.randint(1, 2))]
    return {"Plan": node} if not depth else node


def configuration(random: Random) -> dict[str, Any]:
    """Settings: lists of lists, true and false, an empty list, keys with dots."""
    return {
        "debug": random.choice([True, False]),
        "hosts": random.choice([[], ["a.example.org", "b.example.org"]]),
        "matrix": [[random.randint(0, 9) for _ in range(3)] for _ in range(random.randint(1, 3))],
        "log.level": random.choice(["info", "error"]),
        "log": {"level": random.randint(0, 9999)},
    }


KINDS = (pod, package, log_record, feature, plan, configuration)


def documents(kind: Any, count: int, seed: int = 0) -> list[dict[str, Any]]:
    random = Random(seed)
    return [kind(random) for _ in range(count)]


def drawn_value(random: Random, depth: int = 0) -> Any:
    """A value of JSON, whose keys and texts include those that look like paths and special tokens."""
    kinds = ["text", "number", "boolean", "null"] + ["object", "list"] * (depth < 4)
    kind = random.choice(kinds)
    if kind == "object":
        keys = random.sample(["a", "b", "", "$.a", "a.b", "[]", 'q"', "x y", "\\", "é"], random.randint(0, 4))
        return {key + "'" * depth: drawn_value(random, depth + 1) for key in keys}  # none is on a path twice
    if kind == "list":
        return [drawn_value(random, depth + 1) for _ in range(random.randint(0, 4))]
    texts = ["", "<null>", "\\<null>", "<missing>", "one two", "3", "2026-11-29"]
    scalars = {"text": random.choice(texts), "number": random.choice([0, 3, -1.5, 1e300]), "boolean": True}
    return scalars.get(kind)


def permuted(value: Any, random: Random, lists: bool) -> Any:
    """The value with the keys of its objects, and with ``lists`` the items of its lists, in another order."""
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {key: permuted(value[key], random, lists) for key in keys}
    if isinstance(value, list):
        items = [permuted(item, random, lists) for item in value]
        return random.sample(items, len(items)) if lists else items
    return value
