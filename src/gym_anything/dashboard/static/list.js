// All runs: as a table, or as a grid of tasks and models.

import { h, replace, shown } from "./dom.js";
import { cell, idOf, runs, words } from "./store.js";
import { CHOICES, filtered } from "./filter.js";
import { VirtualList } from "./virtual.js";
import { inBasket, toggle } from "./basket.js";
import { here, keepList, link, rewrite, runLink } from "./place.js";
import { GLYPHS, plural, score, seconds, STATUSES, when } from "./words.js";

const HEADS = [
  ["status", "", "by status"], ["task", "task"], ["env", "environment"], ["model", "model"], ["run", "run"],
  ["score", "score"], ["steps", "steps"], ["duration_s", "time"], ["finished_at", "finished"], ["story", "what the judge said"],
];
const LABELS = { exp: "experiment", model: "model", env: "environment", difficulty: "difficulty" };

/** The list of the runs that have exactly these names: folders' names, so there is no blank in them. */
function only(names, choices = {}) {
  const q = Object.entries(names).map(([key, name]) => `${key}:=${name}`).join(" ");
  return link("", [], new URLSearchParams({ q, ...choices }));
}

/** The rows as they were last shown: next and previous of an episode go along them. */
export const order = { ids: [] };

export class ListPage {
  constructor(main) {
    this.search = h("input", {
      type: "search", id: "search", placeholder: "Filter: words, env:name, -not …  ( / )", "aria-label": "filter", autocomplete: "off",
      spellcheck: "false", oninput: () => this.set({ q: this.search.value.trim() }),
    });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "status" });
    this.choices = h("div", { class: "choices" });
    this.sum = h("p", { class: "sum", role: "status" });
    this.modes = h("div", { class: "modes", role: "group", "aria-label": "as" });
    this.head = h("div", { class: "head", role: "row" });
    this.list = new VirtualList((row, index) => this.fill(row, index), "runs");
    this.list.element.addEventListener("click", (event) => this.clicked(event));
    this.element = h("section", { class: "runs" },
      h("div", { class: "bar" }, this.search, this.chips, this.choices, this.modes), this.sum, this.list.element);
    this.list.element.prepend(this.head);
    replace(main, this.element);
    document.title = "Gym-Anything: runs";
    this.drawChoices();
    this.draw(0);
    shown("list");
  }

  end() { this.list.end(); }

  set(changes) { rewrite(changes); this.draw(0); }

  renew() {
    const id = this.chosenId(), top = this.list.element.scrollTop;
    this.drawChoices();
    this.draw(0);
    this.list.element.scrollTop = top;
    const at = this.found.rows.findIndex((row) => idOf(row) === id);
    if (at >= 0 && !this.isGrid) { this.list.chosen = at; this.list.show(this.items.length, at); }
  }

  draw(chosen) {
    const { where } = here();
    if (document.activeElement !== this.search) this.search.value = where.get("q") || "";
    this.isGrid = where.get("as") === "grid";
    this.found = filtered(where);
    order.ids = this.found.rows.map(idOf);
    this.element.classList.toggle("as-grid", this.isGrid);
    this.items = this.isGrid ? this.gridRows() : this.found.rows;
    this.drawChips();
    this.drawSum();
    this.drawModes();
    this.drawHead(where.get("sort") || "");
    this.list.show(this.items.length, chosen);
    keepList();
  }

  drawChips() {
    const { counts, asked } = this.found;
    replace(this.chips, STATUSES.filter((name) => counts[name] || asked.has(name)).map((name) =>
      h("button", {
        class: `chip ${name}`, "aria-pressed": asked.has(name), onclick: () => {
          if (!asked.delete(name)) asked.add(name);
          this.set({ status: [...asked].join(",") });
        },
      }, h("span", { class: "glyph" }, GLYPHS[name]), ` ${counts[name].toLocaleString("en")} ${name}`)));
  }

  drawChoices() {
    const { where } = here();
    replace(this.choices, CHOICES.filter((name) => words(name).length > 1).map((name) =>
      h("select", { "aria-label": LABELS[name], onchange: (event) => this.set({ [name]: event.target.value }) },
        h("option", { value: "" }, `every ${LABELS[name]}`),
        words(name).map((word) => h("option", { value: word, selected: where.get(name) === word }, word)))));
  }

  drawSum() {
    const { rows } = this.found, status = cell("status"), times = cell("duration_s");
    let passed = 0, judged = 0, time = 0, timed = 0;
    for (const row of rows) {
      if (status[row] === "passed") passed += 1;
      if (status[row] === "passed" || status[row] === "failed") judged += 1;
      if (times[row] !== null) { time += times[row]; timed += 1; }
    }
    const parts = [plural(rows.length, "run") + (rows.length < runs.count ? ` of ${runs.count.toLocaleString("en")}` : "")];
    if (judged) parts.push(`${(100 * passed / judged).toFixed(1)} % of ${judged.toLocaleString("en")} judged ones passed`);
    if (timed) parts.push(`${seconds(time / timed)} each`);
    replace(this.sum, parts.join(" · "));
  }

  drawModes() {
    replace(this.modes, [["", "Table"], ["grid", "Grid"]].map(([mode, label]) =>
      h("button", { "aria-pressed": this.isGrid === (mode === "grid"), title: "g", onclick: () => this.set({ as: mode }) }, label)));
  }

  drawHead(sort) {
    if (this.isGrid) {
      replace(this.head, h("span", {}, "task"), this.lanes.map((lane) => h("span", { title: lane }, lane)));
      return;
    }
    this.list.element.style.removeProperty("--lanes");
    replace(this.head, HEADS.map(([name, label, title]) => {
      const is = sort === name || sort === `-${name}`;
      return h("button", {
        class: `c-${name}`, title: title || `by ${label}`, "aria-label": title || `by ${label}`, onclick: () =>
          this.set({ sort: sort === name ? `-${name}` : sort === `-${name}` ? "" : name }),
      }, label || "●", is ? (sort.startsWith("-") ? " ↓" : " ↑") : "");
    }));
  }

  /** One row for each task, one lane for each model (and experiment, where there are several). */
  gridRows() {
    const many = words("exp").length > 1, tasks = new Map(), lanes = new Map();
    for (const row of this.found.rows) {
      const task = `${cell("env")[row]}/${cell("task")[row]}`;
      const lane = (many ? `${cell("exp")[row]}/` : "") + cell("model")[row];
      if (!lanes.has(lane)) lanes.set(lane, lanes.size);
      if (!tasks.has(task)) tasks.set(task, []);
      (tasks.get(task)[lanes.get(lane)] ||= []).push(row);
    }
    this.lanes = [...lanes.keys()];
    this.list.element.style.setProperty("--lanes", String(Math.max(1, this.lanes.length)));
    return [...tasks].map(([task, cells]) => ({ task, cells }));
  }

  fill(element, index) {
    if (this.isGrid) this.fillGrid(element, this.items[index]);
    else this.fillRow(element, this.items[index]);
  }

  fillRow(element, row) {
    const status = cell("status")[row], id = idOf(row);
    element.classList.toggle("marked", inBasket(id));
    element.append(
      h("span", { class: `c-status glyph ${status}`, title: status }, GLYPHS[status]),
      h("a", { class: "c-task", href: runLink(id) }, cell("task")[row]),
      h("span", { class: "c-env" }, cell("env")[row]),
      h("span", { class: "c-model" }, cell("model")[row]),
      h("span", { class: "c-run" }, cell("run")[row].replace("run_", "#")),
      h("span", { class: "c-score" }, score(cell("score")[row])),
      h("span", { class: "c-steps" }, cell("steps")[row] ?? ""),
      h("span", { class: "c-duration_s" }, seconds(cell("duration_s")[row])),
      h("span", { class: "c-finished_at" }, when(cell("finished_at")[row])),
      h("span", { class: "c-story", title: cell("story")[row] || "" }, cell("story")[row] || ""));
  }

  fillGrid(element, { task, cells }) {
    const [env, name] = task.split("/");
    element.append(
      h("a", { class: "c-task", href: only({ env, task: name }), title: task },
        name, h("small", {}, ` ${env}`)),
      ...this.lanes.map((_, lane) => h("span", { class: "tiles" }, this.tiles(cells[lane] || [], env, name))));
  }

  tiles(rows, env, name) {
    const most = 8;
    const shownRows = rows.length > most ? rows.slice(0, most - 1) : rows;
    const tiles = shownRows.map((row) => {
      const status = cell("status")[row];
      const said = `${status} ${score(cell("score")[row])}: ${cell("story")[row] || ""}`;
      return h("a", { class: `tile ${status}`, href: runLink(idOf(row)), title: said, "aria-label": `${cell("run")[row]} ${status}` }, GLYPHS[status]);
    });
    if (rows.length > shownRows.length) {
      const lane = words("exp").length > 1 ? { exp: cell("exp")[rows[0]] } : {};
      const href = only({ env, task: name, model: cell("model")[rows[0]] }, lane);
      tiles.push(h("a", { class: "more", href }, `+${rows.length - shownRows.length}`));
    }
    return tiles;
  }

  clicked(event) {
    const element = event.target.closest(".row");
    if (!element || event.target.closest("a")) return;
    this.list.choose(Number(element.dataset.index));
    if (!this.isGrid && String(getSelection()) === "") this.open();
  }

  chosenId() {
    const row = this.isGrid ? undefined : this.items[this.list.chosen];
    return row === undefined ? null : idOf(row);
  }

  open() { if (this.chosenId()) location.hash = runLink(this.chosenId()); else this.list.rows.get(this.list.chosen)?.querySelector(".tile")?.click(); }

  mark() {
    if (!this.chosenId()) return;
    toggle(this.chosenId());
    const at = this.list.chosen;
    this.list.show(this.items.length, at);
  }

  keys() {
    const move = (by) => () => this.list.choose(this.list.chosen + by);
    return {
      j: move(1), ArrowDown: move(1), k: move(-1), ArrowUp: move(-1),
      PageDown: () => this.list.choose(this.list.chosen + this.list.page), PageUp: () => this.list.choose(this.list.chosen - this.list.page),
      Home: () => this.list.choose(0), End: () => this.list.choose(this.list.count - 1),
      Enter: () => this.open(), x: () => this.mark(), "/": () => this.search.focus(),
      g: () => this.set({ as: this.isGrid ? "" : "grid" }),
      Escape: () => this.set({ q: "", status: "", ...Object.fromEntries(CHOICES.map((name) => [name, ""])) }),
    };
  }
}
