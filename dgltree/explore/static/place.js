// What the address says behind #: the room, and what is looked at in it.

export function here() {
  const [room, query = ""] = location.hash.slice(1).split("?");
  return { room, given: new URLSearchParams(query) };
}

// The address of what is shown, without a step in the history: typing would fill it.
export function keep(room, values) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) given.set(name, value);
  }
  const query = given.toString();
  history.replaceState(null, "", `#${room}${query ? `?${query}` : ""}`);
}
