// One episode, step by step: the frame with the action on it, and what belongs to the step.

import { h, replace, svg } from "./dom.js";
import { fileAddress } from "./store.js";
import { drawMarks } from "./marks.js";
import { asText, GLYPHS, plural, score, seconds, statusOf } from "./words.js";

const AHEAD = 3;

export class Pane {
  /** onStep(n) is told of every change of the step by hand. Steps count from 1; the one after the last is the end. */
  constructor(id, story, onStep) {
    this.id = id;
    this.story = story;
    this.onStep = onStep;
    this.episode = story.episode;
    this.steps = this.episode ? this.episode.steps : [];
    this.last = this.steps.length + 1;
    this.files = new Map(story.files.map((file) => [file.path, file]));
    this.look = "before";
    this.withMarks = true;
    this.at = 0;
    this.build();
  }

  get outcome() { return this.story.info?.outcome ?? this.episode?.verifier?.outcome ?? null; }
  get status() { return statusOf(this.story.finished ? this.outcome?.status : "unfinished"); }

  build() {
    this.image = h("img", { alt: "", draggable: "false", decoding: "async", onerror: () => this.noFrame("this frame cannot be shown") });
    this.layer = svg("svg", { class: "marks", "aria-hidden": "true", preserveAspectRatio: "none" });
    this.none = h("p", { class: "none" });
    this.video = h("div", { class: "video", hidden: true });
    this.shot = h("div", { class: "shot" }, this.image, this.layer);
    this.frame = h("div", { class: "frame" }, this.shot, this.none);
    this.image.addEventListener("load", () => this.fit());
    this.fit();
    this.caption = h("figcaption", {});
    this.slider = h("input", {
      type: "range", min: 1, max: this.last, value: 1, step: 1, "aria-label": "step",
      oninput: () => this.go(Number(this.slider.value), true),
    });
    const button = (label, title, act, more) => h("button", { title, "aria-label": title, onclick: act, ...more }, label);
    this.playButton = button("▶", "play (space)", () => this.play());
    this.lookButton = button("after", "before or after the action (b)", () => this.turn());
    this.marksButton = button("marks", "draw the action (m)", () => this.toggleMarks(), { "aria-pressed": true });
    this.videoButton = this.videoFile ? button("video", "the recording (v)", () => this.toggleVideo(), { "aria-pressed": false }) : null;
    this.ticks = h("div", { class: "ticks", "aria-hidden": "true" }, this.last <= 400 ? this.steps.map((step) =>
      h("i", { class: step.error ? "error" : step.drawn.some((one) => one.marks.length) ? "input" : "" })) : null, h("i", { class: this.status }));
    this.stage = h("figure", { class: "stage" }, this.frame, this.video,
      h("div", { class: "controls" },
        button("⏮", "first (Home)", () => this.go(1, true)), button("❮", "back (←)", () => this.go(this.at - 1, true)), this.playButton,
        button("❯", "on (→)", () => this.go(this.at + 1, true)), button("⏭", "end (End)", () => this.go(this.last, true)),
        h("span", { class: "grow" }), this.lookButton, this.marksButton, this.videoButton),
      h("div", { class: "slide" }, this.slider, this.ticks), this.caption);
    this.said = h("section", { class: "said", "aria-live": "polite" });
  }

  /** The size of the screen in guest pixels; of the picture, where the screen's is not known. */
  get size() { return this.episode?.resolution ?? [this.image.naturalWidth || 16, this.image.naturalHeight || 9]; }

  /** Let the marks lie exactly over the picture. */
  fit() { this.shot.style.setProperty("--aspect", String(this.size[0] / this.size[1])); }

  file(name) { return name && this.episode ? this.files.get(`${this.episode.dir}/${name}`) : undefined; }
  get videoFile() { return this.file(this.episode?.video); }

  go(at, byHand) {
    const to = Math.max(1, Math.min(this.last, at));
    if (to === this.at) return;
    this.at = to;
    this.slider.value = String(to);
    this.draw();
    if (byHand && this.onStep) this.onStep(to);
  }

  /** The picture of a step as it is looked at now. */
  pictureOf(at) {
    if (!this.episode) return undefined;
    if (at === this.last) return this.file(this.episode.last);
    const step = this.steps[at - 1];
    return this.file(this.look === "before" ? step.before : step.after);
  }

  draw() {
    const isEnd = this.at === this.last, step = isEnd ? null : this.steps[this.at - 1];
    const file = this.pictureOf(this.at);
    if (file) {
      const address = fileAddress(this.id, file);
      this.none.hidden = true;
      this.shot.hidden = false;
      if (this.image.getAttribute("src") !== address) this.image.src = address;
      this.image.alt = isEnd ? "the screen at the end" : `the screen ${this.look} step ${this.at - (this.look === "before" ? this.steps[this.at - 1].steps_earlier : 0)}`;
    } else {
      this.noFrame(this.episode ? "no frame was kept here" : "nothing of this episode was kept");
    }
    this.drawLayer(file ? step : null);
    const where = isEnd ? (this.steps.length ? `end, after ${plural(this.steps.length, "step")}` : "no step was done") : `step ${this.at} of ${this.steps.length}`;
    const earlier = step && this.look === "before" ? step.steps_earlier : 0;
    const which = earlier ? `the frame was not kept; this one is ${plural(earlier, "step")} earlier` : `${this.look} the action`;
    replace(this.caption, where, !isEnd && file ? ` · ${which}` : "");
    this.lookButton.textContent = this.look;
    this.lookButton.disabled = isEnd;
    replace(this.said, isEnd ? this.endParts() : this.stepParts(step));
    for (let n = 1; n <= AHEAD; n += 1) {
      const next = this.at + n <= this.last ? this.pictureOf(this.at + n) : undefined;
      if (next) new Image().src = fileAddress(this.id, next);
    }
  }

  drawLayer(step) {
    const marks = step && this.withMarks && this.look === "before" ? step.drawn.flatMap((one) => one.marks) : [];
    const draw = () => drawMarks(this.layer, marks, this.size);
    if (this.image.complete || this.episode?.resolution) draw();
    else this.image.addEventListener("load", draw, { once: true });
  }

  noFrame(why) {
    this.shot.hidden = true;
    this.none.hidden = false;
    this.none.textContent = why;
    this.layer.replaceChildren();
  }

  stepParts(step) {
    const thought = step.metadata?.thought ?? step.metadata?.reasoning ?? step.metadata?.story;
    const rest = Object.entries(step.metadata || {}).filter(([key, value]) => !["thought", "reasoning"].includes(key) && value !== null && value !== "");
    const results = (step.action_results || []).filter((one) => one && one.output !== null && one.output !== undefined);
    return [
      thought ? h("div", { class: "thought" }, h("h3", {}, "Thought"), h("p", { class: "prose" }, asText(thought))) : null,
      h("div", {}, h("h3", {}, "Action"), step.drawn.length
        ? h("ol", { class: "actions" }, step.drawn.map((one) => h("li", {}, one.text))) : h("p", { class: "quiet" }, step.mark_done ? "done" : "none"),
      step.mark_done && step.drawn.length ? h("p", {}, "and done") : null),
      step.error ? h("div", { class: "bad" }, h("h3", {}, "Refused or failed"), h("p", { class: "prose" }, asText(step.error.message ?? step.error))) : null,
      results.length ? h("div", {}, h("h3", {}, "Result"), h("pre", {}, results.map((one) => asText(one.output)).join("\n"))) : null,
      h("div", {}, h("h3", {}, "Time"), times([
        ["before it: agent and the rest", step.before_s], ["actions", step.timings?.actions_s], ["waiting for the screen", step.timings?.pacing_s],
        ["looking", step.timings?.observation_s]])),
      rest.length ? h("details", {}, h("summary", {}, "What the agent said about it"), h("pre", {}, asText(Object.fromEntries(rest)))) : null,
      h("details", {}, h("summary", {}, "Action as it was given"), h("pre", {}, asText(step.actions ?? null))),
    ];
  }

  endParts() {
    const info = this.story.info, verifier = info?.verifier ?? this.episode?.verifier, outcome = this.outcome;
    if (!outcome && !verifier) return [h("p", { class: "quiet" }, "There is no verdict: the episode is still played, or was cut off.")];
    const subscores = verifier?.subscores && typeof verifier.subscores === "object" ? Object.entries(verifier.subscores) : [];
    return [
      h("div", { class: "verdict" }, h("h3", {}, "Verdict"), badge(this.status, outcome), info?.reason ? h("p", { class: "quiet" }, `ended: ${info.reason}`) : null,
        outcome?.blame ? h("p", {}, `broken by: ${outcome.blame}`) : null,
        h("p", { class: "prose" }, asText(verifier?.feedback || outcome?.story || ""))),
      subscores.length ? h("table", { class: "facts" }, h("tbody", {}, subscores.map(([name, value]) => h("tr", {}, h("th", {}, name), h("td", {}, asText(value)))))) : null,
      outcome?.detail && Object.keys(outcome.detail).length ? h("details", { open: outcome.status === "broken" }, h("summary", {}, "Details"), h("pre", {}, asText(outcome.detail))) : null,
      verifier ? h("details", {}, h("summary", {}, "The judge's whole report"), h("pre", {}, asText(verifier))) : null,
    ];
  }

  turn() { if (this.at < this.last) { this.look = this.look === "before" ? "after" : "before"; this.draw(); } }

  toggleMarks() {
    this.withMarks = !this.withMarks;
    this.marksButton.setAttribute("aria-pressed", String(this.withMarks));
    this.draw();
  }

  toggleVideo() {
    if (!this.videoFile) return;
    const on = this.video.hidden;
    if (on) replace(this.video, h("video", { controls: true, autoplay: true, muted: true, src: fileAddress(this.id, this.videoFile) }));
    else replace(this.video);
    this.video.hidden = !on;
    this.frame.hidden = on;
    this.videoButton.setAttribute("aria-pressed", String(on));
  }

  play() {
    if (this.timer) { this.stop(); return; }
    if (this.at === this.last) this.go(1, true);
    this.playButton.textContent = "⏸";
    this.timer = setInterval(() => { if (this.at === this.last) this.stop(); else this.go(this.at + 1, true); }, 900);
  }

  stop() { clearInterval(this.timer); this.timer = null; this.playButton.textContent = "▶"; }

  /** Resolves when the present frame can be seen. */
  async ready() { if (!this.shot.hidden) await this.image.decode().catch(() => null); }

  keys() {
    return {
      ArrowRight: () => this.go(this.at + 1, true), l: () => this.go(this.at + 1, true), ArrowLeft: () => this.go(this.at - 1, true), h: () => this.go(this.at - 1, true),
      Home: () => this.go(1, true), End: () => this.go(this.last, true), " ": () => this.play(), b: () => this.turn(), m: () => this.toggleMarks(), v: () => this.toggleVideo(),
    };
  }
}

export function badge(status, outcome) {
  const points = status === "passed" || status === "failed" ? ` ${score(outcome?.score)}` : "";
  return h("span", { class: `badge ${status}` }, `${GLYPHS[status]} ${status}${points}`);
}

/** Durations with bars, the longest one full. */
export function times(rows) {
  const known = rows.filter(([, value]) => typeof value === "number"), longest = Math.max(0.000001, ...known.map(([, value]) => value));
  if (!known.length) return h("p", { class: "quiet" }, "not kept");
  return h("table", { class: "times" }, h("tbody", {}, known.map(([name, value]) => h("tr", {}, h("th", {}, name), h("td", {}, seconds(value)),
    h("td", { class: "bar-cell" }, h("meter", { min: 0, max: longest, value, "aria-hidden": "true" }))))));
}
