// The page of one run.

import { h, replace, shown } from "./dom.js";
import { fileAddress, story } from "./store.js";
import { badge, Pane, times } from "./pane.js";
import { order } from "./list.js";
import { comparison, inBasket, toggle } from "./basket.js";
import { here, listLink, rewrite, runLink } from "./place.js";
import { asText, bytes, seconds, when } from "./words.js";

export class EpisodePage {
  static async open(main, id, isWanted) {
    const found = await story(id);
    return isWanted() ? new EpisodePage(main, id, found) : null;
  }

  constructor(main, id, found) {
    this.id = id;
    this.found = found;
    this.pane = new Pane(id, found, (step) => rewrite({ step }));
    this.markButton = h("button", { title: "put beside another run (x)", onclick: () => this.mark() });
    const at = order.ids.indexOf(id);
    this.before = at > 0 ? order.ids[at - 1] : null;
    this.after = at >= 0 ? order.ids[at + 1] : null;
    replace(main, h("section", { class: "episode" }, this.title(found),
      found.notes.length ? h("p", { class: "bad pad", role: "alert" }, found.notes.join("; ")) : null,
      h("div", { class: "two" }, this.pane.stage, h("div", { class: "side" }, this.task(found), this.pane.said, this.more(found)))));
    document.title = `${id.split("/").slice(-2).join(" ")} · ${this.pane.status}`;
    this.drawMark();
    this.pane.go(Number(here().where.get("step")) || 1, false);
    this.pane.ready().then(() => shown(`run ${id}`));
  }

  task(found) {
    const prompt = found.episode?.prompt;
    return prompt ? h("section", { class: "task" }, h("h3", {}, "Task"), h("p", { class: "prose" }, prompt)) : null;
  }

  title(found) {
    const [exp, model, env, task, run] = this.id.split("/"), info = found.info;
    const beside = (id, label, title) => h("a", { class: "button", href: id ? runLink(id) : null, title, "aria-disabled": !id }, label);
    return h("header", { class: "title" },
      h("h1", {}, task, " ", h("small", {}, `${env} · ${info?.request?.model || model} · ${run} · ${exp}`)), badge(this.pane.status, this.pane.outcome),
      info ? h("span", { class: "quiet" }, `${seconds(info.duration_s)} · ${when(info.finished_at)}`) : null, h("span", { class: "grow" }),
      beside(this.before, "← p", "the run before (p)"), beside(this.after, "n →", "the next run (n)"), this.markButton);
  }

  more(found) {
    const info = found.info, usage = info?.usage, facts = info ? [
      ["agent", info.request?.agent], ["model", info.request?.model], ["runner", info.runner], ["seed", info.request?.seed], ["attempt", info.request?.attempt],
      ["tokens", usage ? `${usage.input_tokens ?? "?"} in, ${usage.output_tokens ?? "?"} out` : null], ["cost", typeof usage?.cost_usd === "number" ? `${usage.cost_usd.toFixed(4)} US$` : null],
      ["memory", typeof info.memory?.whole_mib === "number" ? `${Math.round(info.memory.whole_mib)} MiB` : null]].filter(([, value]) => value !== null && value !== undefined) : [];
    const events = (found.episode?.events || []).filter((one) => !["reset", "session", "finalize"].includes(one.event));
    return h("div", { class: "more" },
      info?.warnings?.length ? h("div", {}, h("h3", {}, "Warnings"), h("ul", {}, info.warnings.map((one) => h("li", {}, asText(one))))) : null,
      h("details", { open: true }, h("summary", {}, "Times of the episode"), times(phases(info?.timings))),
      facts.length ? h("details", {}, h("summary", {}, "Facts"), h("table", { class: "facts" }, h("tbody", {}, facts.map(([name, value]) => h("tr", {}, h("th", {}, name), h("td", {}, asText(value))))))) : null,
      events.length ? h("details", {}, h("summary", {}, `Other events (${events.length})`), h("pre", {}, events.map(asText).join("\n"))) : null,
      h("details", {}, h("summary", {}, `Files (${found.files.length})`), h("ul", { class: "files" }, found.files.slice(0, 500).map((file) =>
        h("li", {}, h("a", { href: fileAddress(this.id, file), target: "_blank", rel: "noopener" }, file.path), " ", h("small", {}, bytes(file.size)))),
      found.files.length > 500 ? h("li", {}, `and ${found.files.length - 500} more`) : null)),
      info ? h("details", {}, h("summary", {}, "The whole record"), h("pre", {}, asText(info))) : null);
  }

  /** Tell whether there is more of an episode that was still played when it was opened. */
  async isOld() {
    if (this.found.finished) return false;
    const now = await story(this.id);
    return now.finished || (now.episode?.steps.length ?? 0) !== this.pane.steps.length;
  }

  mark() {
    toggle(this.id);
    this.drawMark();
    if (comparison()) location.hash = comparison();
  }

  drawMark() {
    this.markButton.textContent = inBasket(this.id) ? "marked ⇄" : "compare ⇄";
    this.markButton.setAttribute("aria-pressed", String(inBasket(this.id)));
  }

  moved() { this.pane.go(Number(here().where.get("step")) || 1, false); }

  end() { this.pane.stop(); }

  keys() {
    const to = (id) => () => { if (id) location.hash = runLink(id); };
    return { ...this.pane.keys(), n: to(this.after), p: to(this.before), x: () => this.mark(), u: () => { location.hash = listLink(); }, Escape: () => { location.hash = listLink(); } };
  }
}

const PHASES = ["load_s", "reset_s", "agent_s", "world_s", "judge_s", "finish_s", "close_s"];

/** Times by phase, in the order in which they come. */
export function phases(timings) {
  const place = ([name]) => (PHASES.includes(name) ? PHASES.indexOf(name) : PHASES.length);
  return Object.entries(timings || {}).sort((a, b) => place(a) - place(b)).map(([name, value]) => [name.replace(/_s$/, "").replace(/_/g, " "), value]);
}
