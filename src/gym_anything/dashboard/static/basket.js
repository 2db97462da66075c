// Two runs to put side by side.

import { compareLink } from "./place.js";

const chosen = [];
const basket = document.getElementById("basket");

export const inBasket = (id) => chosen.includes(id);

export function toggle(id) {
  const at = chosen.indexOf(id);
  if (at >= 0) chosen.splice(at, 1);
  else { chosen.push(id); if (chosen.length > 2) chosen.shift(); }
  draw();
}

/** The address of the comparison; null before there are two. */
export const comparison = () => (chosen.length === 2 ? compareLink(chosen[0], chosen[1]) : null);

function draw() {
  basket.hidden = chosen.length === 0;
  basket.textContent = chosen.length === 2 ? "Compare the two ⇄" : "One run marked; mark another (x)";
  if (comparison()) basket.setAttribute("href", comparison());
  else basket.removeAttribute("href");
}
