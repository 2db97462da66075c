// Elements from data. Text only ever becomes text: what agents and verifiers wrote is outside input.

/** Make an element: h("a", {href: "#/", class: "x", onclick: f}, "text", child, null). */
export function h(name, properties, ...children) {
  return filled(document.createElement(name), properties, children);
}

/** The same for pictures drawn in SVG. */
export function svg(name, properties, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), properties, children);
}

function filled(element, properties, children) {
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || (value === false && !key.startsWith("aria-"))) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true && !key.startsWith("aria-") ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Say that something is on the screen, for who measures and tests: after it was painted. */
export function shown(what) {
  requestAnimationFrame(() => requestAnimationFrame(() => {
    performance.mark(`shown:${what}`);
    document.documentElement.dataset.shown = what;
  }));
}
