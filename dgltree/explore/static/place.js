// What the address says behind #: the room, and what is looked at in it.

const PAUSE = 1500; // milliseconds without a change, after which typing begins a new step of the history
let changed = 0;
let known = location.hash; // the address that the page has followed or written last

export function here() {
  const [room, query = ""] = location.hash.slice(1).split("?");
  return { room, given: new URLSearchParams(query) };
}

// Called where a room opens at the address, no earlier: until then answers to older questions may come.
export function follow() {
  known = location.hash;
  return here();
}

/* The address of what is shown. It is a step of the history, to which Back returns:
   "chosen" always, "typed" after a pause; "found" never, since it follows from what was chosen or typed. */
export function keep(room, values, why = "found") {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) given.set(name, value);
  }
  const query = given.toString(), address = `#${room}${query ? `?${query}` : ""}`;
  if (address === location.hash) return;
  // What an answer belongs to may no longer be the present step: Back was pressed, and the page has yet to hear of it,
  // or has heard and opened another room.
  const open = location.hash.slice(1).split("?")[0];
  if (why === "found" && (location.hash !== known || (open && open !== room))) return;
  const now = performance.now(), step = why === "chosen" || (why === "typed" && now - changed > PAUSE);
  if (why === "typed") changed = now;
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  known = location.hash;
}
