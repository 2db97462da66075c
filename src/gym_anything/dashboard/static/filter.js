// Which runs are shown, in which order: words, key:part, key:=whole, -not; and the choices beside.

import { cell, runs } from "./store.js";

const SEARCHED = ["exp", "model", "env", "task", "run", "status", "reason", "blame", "runner", "agent", "difficulty", "tags", "story"];
export const CHOICES = ["exp", "model", "env", "difficulty"];

let texts = null, textsOf = null;

function text(row) {
  if (textsOf !== runs.tag) [texts, textsOf] = [new Array(runs.count), runs.tag];
  if (texts[row] === undefined) {
    texts[row] = SEARCHED.map((name) => cell(name)[row] ?? "").join("\n").toLowerCase();
  }
  return texts[row];
}

function test(term) {
  const not = term.startsWith("-") && term.length > 1;
  const asked = not ? term.slice(1) : term, word = asked.toLowerCase();
  const colon = word.indexOf(":");
  const key = word.slice(0, colon);
  let is;
  if (colon > 0 && SEARCHED.includes(key) && asked[colon + 1] === "=") {
    const name = asked.slice(colon + 2), column = cell(key);
    is = (row) => name === "" || column[row] === name;  // none yet: somebody is still typing
  } else if (colon > 0 && SEARCHED.includes(key)) {
    const wanted = word.slice(colon + 1), column = cell(key);
    is = (row) => (column[row] ?? "").toLowerCase().includes(wanted);
  } else {
    is = (row) => text(row).includes(word);
  }
  return not ? (row) => !is(row) : is;
}

/** The rows that `where` (a URLSearchParams) leaves, sorted. */
export function filtered(where) {
  const tests = (where.get("q") || "").split(/\s+/).filter(Boolean).map(test);
  for (const name of CHOICES) {
    const wanted = where.get(name);
    if (wanted) { const column = cell(name); tests.push((row) => column[row] === wanted); }
  }
  const uncounted = Array.from({ length: runs.count }, (_, row) => row).filter((row) => tests.every((is) => is(row)));
  const status = cell("status"), counts = { passed: 0, failed: 0, broken: 0, unfinished: 0 };
  for (const row of uncounted) counts[status[row]] += 1;
  const asked = new Set((where.get("status") || "").split(",").filter(Boolean));
  const rows = asked.size ? uncounted.filter((row) => asked.has(status[row])) : uncounted;
  return { rows: sorted(rows, where.get("sort")), counts, asked };
}

function sorted(rows, by) {
  if (!by) return rows;
  const down = by.startsWith("-"), name = down ? by.slice(1) : by;
  if (!(name in runs.columns)) return rows;
  const column = cell(name), sign = down ? -1 : 1;
  return rows.sort((a, b) => {
    const x = column[a], y = column[b];
    if (x === y) return a - b;
    if (x === null || x === undefined) return 1;  // what is unknown comes last, either way
    if (y === null || y === undefined) return -1;
    return x < y ? -sign : sign;
  });
}
