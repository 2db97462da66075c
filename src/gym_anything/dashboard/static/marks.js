// What was done, drawn over the frame that was seen: clicks, drags, wheel, keys.

import { svg } from "./dom.js";

const LETTER = { left: "", right: "R", middle: "M" };

/** Draw the marks of a step; size is [width, height] of the screen in guest pixels. */
export function drawMarks(layer, marks, size) {
  const [width, height] = size, isSmall = layer.getBoundingClientRect().width < 600;
  const unit = (Math.max(width, height) / 100) * (isSmall ? 1.7 : 1);
  let typed = 0;  // bubbles stand below each other
  layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
  layer.replaceChildren();
  marks.forEach((mark, n) => {
    const number = marks.length > 1 ? String(n + 1) : "";
    layer.append(svg("g", { class: `mark ${mark.kind}` }, ...DRAW[mark.kind](mark, unit, size, mark.kind === "keys" ? typed : number)));
    if (mark.kind === "keys") typed += 1;
  });
}

const stroke = (unit, more) => ({ "stroke-width": 0.36 * unit, ...more });
const words = (x, y, unit, text, more) => svg("text", { x, y, "font-size": 1.9 * unit, "stroke-width": 0.5 * unit, ...more }, text);

function target([x, y], unit, rings, label) {
  const parts = [];
  for (let ring = 0; ring < rings; ring += 1) {
    parts.push(svg("circle", stroke(2.2 * unit, { class: "under", cx: x, cy: y, r: (1.5 + 0.75 * ring) * unit })));
    parts.push(svg("circle", stroke(unit, { class: "line", cx: x, cy: y, r: (1.5 + 0.75 * ring) * unit })));
  }
  parts.push(svg("circle", { class: "dot", cx: x, cy: y, r: 0.35 * unit }));
  if (label) parts.push(words(x + (1.2 + 0.75 * rings) * unit, y - 1.2 * unit, unit, label));
  return parts;
}

function arrow([x1, y1], [x2, y2], unit) {
  const turn = Math.atan2(y2 - y1, x2 - x1), tip = 1.8 * unit;
  const wing = (by) => `${x2 - tip * Math.cos(turn + by)},${y2 - tip * Math.sin(turn + by)}`;
  const way = `M${x1},${y1} L${x2},${y2} M${wing(0.45)} L${x2},${y2} L${wing(-0.45)}`;
  return [svg("path", stroke(2.2 * unit, { class: "under", d: way })), svg("path", stroke(unit, { class: "line", d: way }))];
}

function bubble(at, unit, [width, height], text, row) {
  const short = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  const shownText = short.replace(/\n/g, "⏎").replace(/\t/g, "⇥");
  const wide = Math.min(width - unit, (shownText.length * 1.05 + 3.2) * unit), high = 3.2 * unit;
  const wished = at || [unit + wide / 2, height - 2 * high];
  const x = Math.max(0.5 * unit, Math.min(width - wide - 0.5 * unit, wished[0] - (at ? -1.5 * unit : wide / 2)));
  const y = Math.max(0.5 * unit, Math.min(height - high - 0.5 * unit, wished[1] + ((at ? 2 : 0) + 3.5 * row) * unit));
  return [
    svg("rect", { class: "bubble", x, y, width: wide, height: high, rx: 0.6 * unit, "stroke-width": 0.15 * unit }),
    svg("text", { class: "typed", x: x + unit, y: y + 2.2 * unit, "font-size": 1.75 * unit, textLength: shownText.length > 20 ? wide - 2 * unit : null, lengthAdjust: "spacingAndGlyphs" }, `⌨ ${shownText}`),
  ];
}

const DRAW = {
  click: (mark, unit, _size, number) => target(mark.at, unit, mark.count, `${number}${LETTER[mark.button]}`),
  drag: (mark, unit, _size, number) => [...target(mark.at, unit, 1, `${number}${LETTER[mark.button]}`), ...arrow(mark.at, mark.to, unit)],
  move: (mark, unit, _size, number) => target(mark.at, unit, 0, number),
  scroll: (mark, unit, size) => {
    const from = mark.at || [size[0] / 2, size[1] / 2], far = 6 * unit;
    const to = [from[0] + Math.sign(mark.dx) * far, from[1] + Math.sign(mark.dy) * far];
    return [...arrow(from, to, unit), words(to[0] + unit, to[1], unit, `× ${Math.max(Math.abs(mark.dx), Math.abs(mark.dy))}`)];
  },
  keys: (mark, unit, size, row) => bubble(mark.at, unit, size, mark.text, row),
};
