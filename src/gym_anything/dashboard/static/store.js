// The list of runs, as the server has it by column, and one run at a time.

export const runs = { count: 0, columns: {}, problems: [], tag: null };

const decoded = new Map();

/** The values of one column: cell("env")[row]. */
export function cell(name) {
  let values = decoded.get(name);
  if (values === undefined) {
    const column = runs.columns[name];
    values = Array.isArray(column) ? column : column.index.map((n) => column.words[n]);
    decoded.set(name, values);
  }
  return values;
}

export function words(name) {
  return runs.columns[name].words.filter((word) => word !== null).sort();
}

/** A run's address: its folders. */
export function idOf(row) {
  return ["exp", "model", "env", "task", "run"].map((name) => cell(name)[row]).join("/");
}

let byId = null;
export function rowOf(id) {
  if (byId === null) byId = new Map(Array.from({ length: runs.count }, (_, row) => [idOf(row), row]));
  return byId.get(id);
}

/** Ask for the list; tells whether it has changed. */
export async function refresh() {
  const headers = runs.tag ? { "If-None-Match": runs.tag } : {};
  const answer = await fetch("/api/runs", { headers, cache: "no-store" });
  if (answer.status === 304) return false;
  const found = await checked(answer);
  Object.assign(runs, await found.json(), { tag: answer.headers.get("etag") });
  decoded.clear();
  byId = null;
  return true;
}

const kept = new Map();

/** One run's whole story; a finished one is asked for once. */
export async function story(id) {
  if (kept.has(id)) return kept.get(id);
  const answer = await checked(await fetch(`/api/run/${address(id)}`));
  const found = await answer.json();
  if (found.finished) {
    kept.set(id, found);
    if (kept.size > 20) kept.delete(kept.keys().next().value);
  }
  return found;
}

async function checked(answer) {
  if (answer.ok) return answer;
  const said = (await answer.text()).trim();
  throw new Error(said || `the server answered ${answer.status}`);
}

export const address = (path) => path.split("/").map(encodeURIComponent).join("/");

/** Where a file of a run is. */
export const fileAddress = (id, file) => `/files/${address(id)}/${address(file.path)}?v=${encodeURIComponent(file.v)}`;
