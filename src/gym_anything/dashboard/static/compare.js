// Two runs side by side, one step at a time.

import { h, replace, shown } from "./dom.js";
import { story } from "./store.js";
import { badge, Pane } from "./pane.js";
import { phases } from "./episode.js";
import { here, listLink, rewrite, runLink } from "./place.js";
import { asText, score, seconds } from "./words.js";

export class ComparePage {
  static async open(main, ids, isWanted) {
    const found = await Promise.all(ids.map(story));
    return isWanted() ? new ComparePage(main, ids, found) : null;
  }

  constructor(main, ids, found) {
    this.panes = ids.map((id, n) => new Pane(id, found[n], (step) => this.go(step)));
    this.last = Math.max(...this.panes.map((pane) => pane.last));
    this.at = 0;
    replace(main, h("section", { class: "compare" },
      h("div", { class: "pair" }, this.panes.map((pane, n) => this.column(pane, ids[n]))),
      h("h2", {}, "What differs"), this.differences(found)));
    document.title = "Two runs · Gym-Anything";
    this.go(Number(here().where.get("step")) || 1);
    Promise.all(this.panes.map((pane) => pane.ready())).then(() => shown(`compare ${ids.join(" ")}`));
  }

  column(pane, id) {
    const [exp, model, env, task, run] = id.split("/");
    return h("article", {}, h("header", { class: "title" }, h("h1", {}, h("a", { href: runLink(id) }, task), " ", h("small", {}, `${env} · ${model} · ${run} · ${exp}`)), badge(pane.status, pane.outcome)),
      pane.stage, pane.said);
  }

  /** Both go to a step; the shorter one waits at its end. */
  go(step) {
    const at = Math.max(1, Math.min(this.last, step));
    if (at === this.at) return;
    this.at = at;
    for (const pane of this.panes) pane.go(at, false);
    if (at > 1 || here().where.has("step")) rewrite({ step: at });
  }

  differences(found) {
    const facts = found.map((one) => {
      const info = one.info || {}, flat = { outcome: info.outcome?.status, score: info.outcome?.score, "said": info.outcome?.story, reason: info.reason, steps: info.steps, time: info.duration_s, runner: info.runner };
      for (const [name, value] of phases(info.timings)) flat[`time: ${name}`] = value;
      for (const [name, value] of Object.entries(info.verifier?.subscores || {})) flat[`points: ${name}`] = value;
      for (const [name, value] of Object.entries(info.request || {})) flat[`asked: ${name}`] = value;
      return flat;
    });
    const names = [...new Set(facts.flatMap(Object.keys))].filter((name) => JSON.stringify(facts[0][name]) !== JSON.stringify(facts[1][name]));
    const said = (name, value) => (value === null || value === undefined ? "–" : name.startsWith("time") ? seconds(value) : name === "score" ? score(value) : asText(value));
    if (!names.length) return h("p", { class: "quiet" }, "nothing in their records");
    return h("div", { class: "wide" }, h("table", { class: "facts" }, h("tbody", {}, names.map((name) =>
      h("tr", {}, h("th", {}, name), facts.map((one) => h("td", {}, said(name, one[name]))))))));
  }

  moved() { this.go(Number(here().where.get("step")) || 1); }

  end() { this.panes.forEach((pane) => pane.stop()); }

  keys() {
    const each = (act) => () => this.panes.forEach(act);
    const to = (step) => () => this.go(step());
    const on = to(() => this.at + 1), back = to(() => this.at - 1);
    return {
      ArrowRight: on, l: on, ArrowLeft: back, h: back, Home: to(() => 1), End: to(() => this.last), " ": () => this.panes[this.panes[0].last >= this.panes[1].last ? 0 : 1].play(),
      b: each((pane) => pane.turn()), m: each((pane) => pane.toggleMarks()), v: each((pane) => pane.toggleVideo()),
      u: () => { location.hash = listLink(); }, Escape: () => { location.hash = listLink(); },
    };
  }
}
