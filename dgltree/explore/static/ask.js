// Questions to the server. A question whose signal is aborted is over for the server, too.

export class Refused extends Error {}

async function response(path, fields, signal) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, fields === undefined ? { signal } : {
      method: "POST", signal, headers: { "content-type": "application/json" }, body: JSON.stringify(fields),
    });
  } catch (error) {
    if (error.name !== "AbortError") gone();
    throw error;
  }
  if (!answer.ok) {
    const json = answer.headers.get("content-type")?.startsWith("application/json");
    const said = await (json ? answer.json().then(({ error }) => error) : answer.text()).catch(() => "");
    throw new Refused(said || `the server refused this (${answer.status})`);
  }
  return answer;
}

export async function ask(path, fields, signal) {
  const said = await (await response(path, fields, signal)).json();
  if (said.error) throw new Refused(said.error);
  return said;
}

// Server-sent events as they come.
export async function listen(path, fields, signal, piece) {
  const answer = await response(path, fields, signal);
  if (answer.headers.get("content-type").startsWith("application/json")) throw new Refused((await answer.json()).error);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const said = JSON.parse(event.replace(/^data: /, ""));
      if (said.error) throw new Refused(said.error);
      piece(said);
    }
  }
}

// Runs the newest question alone: an older one is aborted, and its answer never shown.
export function newest() {
  let controller = new AbortController();
  const run = async (work, failed) => {
    controller.abort();
    const { signal } = (controller = new AbortController());
    try {
      await work(signal);
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      if (error instanceof Refused) failed?.(error.message);
      else if (!(error instanceof TypeError)) throw error; // a TypeError is fetch's: the banner tells it
    }
  };
  run.stop = () => controller.abort();
  return run;
}

let waiting = false;
function gone() {
  const banner = document.getElementById("gone");
  banner.hidden = false;
  if (waiting) return;
  waiting = true;
  const again = setInterval(async () => {
    try {
      if (!(await fetch("api/models")).ok) return;
    } catch { return; }
    clearInterval(again);
    waiting = false;
    banner.hidden = true;
    window.dispatchEvent(new Event("hashchange"));
  }, 1500);
}
