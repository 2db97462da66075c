// A list of any length: only the rows that can be seen are in the page.

import { h } from "./dom.js";

const BEYOND = 8;

export class VirtualList {
  /** fill(element, index, isChosen) puts a row's content into a fresh element. */
  constructor(fill, label) {
    this.fill = fill;
    this.count = 0;
    this.chosen = -1;
    this.rows = new Map();
    this.space = h("div", { class: "space" });
    this.element = h("div", { class: "list", tabindex: 0, role: "grid", "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.watch = new ResizeObserver(() => { this.measure(); this.draw(); });
    this.watch.observe(this.element);
  }

  measure() {
    const height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 34;
    if (height !== this.height) { this.height = height; this.rows.clear(); this.space.replaceChildren(); }
  }

  show(count, chosen) {
    this.measure();
    this.count = count;
    this.chosen = chosen;
    this.element.setAttribute("aria-rowcount", String(count));
    this.space.style.height = `${count * this.height}px`;
    this.rows.clear();
    this.space.replaceChildren();
    this.draw();
  }

  draw() {
    this.space.style.height = `${this.count * this.height}px`;
    const top = Math.max(0, this.element.scrollTop - this.space.offsetTop);
    const first = Math.max(0, Math.floor(top / this.height) - BEYOND);
    const last = Math.min(this.count, Math.ceil((top + (this.element.clientHeight || 800)) / this.height) + BEYOND);
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) { row.remove(); this.rows.delete(index); }
    }
    for (let index = first; index < last; index += 1) {
      if (this.rows.has(index)) continue;
      const row = h("div", { class: "row", role: "row", "aria-rowindex": index + 1 });
      row.style.transform = `translateY(${index * this.height}px)`;
      row.dataset.index = index;
      row.setAttribute("aria-selected", String(index === this.chosen));
      this.fill(row, index);
      this.rows.set(index, row);
      this.space.append(row);
    }
  }

  choose(index) {
    if (!this.count) return;
    this.rows.get(this.chosen)?.setAttribute("aria-selected", "false");
    this.chosen = Math.max(0, Math.min(this.count - 1, index));
    const head = this.space.offsetTop, from = head + this.chosen * this.height;
    const view = this.element;
    if (from - head < view.scrollTop) view.scrollTop = from - head;
    else if (from + this.height > view.scrollTop + view.clientHeight) view.scrollTop = from + this.height - view.clientHeight;
    this.draw();
    this.rows.get(this.chosen)?.setAttribute("aria-selected", "true");
  }

  get page() { return Math.max(1, Math.floor(this.element.clientHeight / this.height) - 2); }

  end() { this.watch.disconnect(); }
}
