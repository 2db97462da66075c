// The page: which part is shown, keys, colours, and news of runs that are still played.

import { h, replace } from "./dom.js";
import { refresh, runs } from "./store.js";
import { ListPage } from "./list.js";
import { EpisodePage } from "./episode.js";
import { ComparePage } from "./compare.js";
import { comparison } from "./basket.js";
import { here, listLink } from "./place.js";

const main = document.getElementById("main"), trouble = document.getElementById("trouble"), path = document.getElementById("path");
const EVERY_MS = 5000;
let page = null, shownPlace = null, turn = 0;

const KEYS = [
  ["Everywhere", [["?", "these keys"], ["t", "light, dark, as the system has it"], ["c", "compare the two marked runs"]]],
  ["List", [["/", "filter"], ["j k ↓ ↑", "choose a run"], ["Enter", "open it"], ["x", "mark it for a comparison"], ["g", "table or grid"], ["Esc", "no filter"]]],
  ["Episode, comparison", [["← → h l", "step"], ["Home End", "first step, end"], ["Space", "play"], ["b", "before or after the action"], ["m", "draw the action or not"],
    ["v", "recording"], ["n p", "next run, the one before"], ["u Esc", "back to the list"]]],
];

function say(error) {
  trouble.hidden = !error;
  trouble.textContent = error ? String(error.message || error) : "";
}

async function route() {
  const place = here(), mine = (turn += 1), isWanted = () => mine === turn;
  const key = JSON.stringify([place.page, place.path]);
  if (page && key === shownPlace && place.page && page.moved) { page.moved(); return; }
  if (page && page.end) page.end();
  page = null;
  shownPlace = key;
  home.setAttribute("href", place.page ? listLink() : "#/");
  replace(path, place.page === "run" ? place.path.slice(1).join(" / ") : place.page === "compare" ? "two runs" : "");
  say(null);
  try {
    let made;
    if (place.page === "run" && place.path.length === 5) made = await EpisodePage.open(main, place.path.join("/"), isWanted);
    else if (place.page === "compare" && place.path.length === 2) made = await ComparePage.open(main, place.path, isWanted);
    else if (place.page === "") made = new ListPage(main);
    else throw new Error(`there is no page ${location.hash}`);
    if (isWanted()) page = made;
    if (page && place.page) scrollTo(0, 0);
  } catch (error) {
    if (!isWanted()) return;
    replace(main, h("p", { class: "pad" }, h("a", { href: "#/" }, "All runs")));
    say(error);
  }
}

async function news() {
  if (!document.hidden) {
    try {
      const changed = await refresh();
      say(runs.problems.join("; ") || null);
      if (changed && page instanceof ListPage) page.renew();
      const looked = page;
      if (looked instanceof EpisodePage && (await looked.isOld()) && looked === page) {
        const top = scrollY;
        shownPlace = null;
        await route();
        scrollTo(0, top);
      }
    } catch (error) {
      say(`no news from the server: ${error.message}`);
    }
  }
  setTimeout(news, EVERY_MS);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inText = event.target.matches("input[type=search], select, textarea");
  if (inText) {
    if (event.key === "Escape" || (event.key === "Enter" && event.target.id === "search")) { event.target.blur(); event.preventDefault(); }
    return;
  }
  if (document.getElementById("keys").open) return;
  if (event.target.matches("button, a, summary, video") && (event.key === " " || event.key === "Enter")) return;
  const all = { "?": showKeys, t: nextTheme, c: () => { if (comparison()) location.hash = comparison(); }, ...(page && page.keys ? page.keys() : {}) };
  const act = Object.hasOwn(all, event.key) ? all[event.key] : null;
  if (act) { event.preventDefault(); act(); }
});

function showKeys() {
  const dialog = document.getElementById("keys");
  replace(dialog, KEYS.map(([title, keys]) => [h("h2", {}, title), h("dl", {}, keys.map(([key, what]) => [h("dt", {}, key.split(" ").map((one) => h("kbd", {}, one))), h("dd", {}, what)]))]),
    h("form", { method: "dialog" }, h("button", {}, "close")));
  dialog.showModal();
}

const THEMES = ["", "light", "dark"];
function theme(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = { "": "◐", light: "☀", dark: "☾" }[name];
}
function nextTheme() {
  const name = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "") + 1) % THEMES.length];
  localStorage.setItem("theme", name);
  theme(name);
}

async function start() {
  const kept = localStorage.getItem("theme");
  theme(THEMES.includes(kept) ? kept : "");
  document.getElementById("theme").addEventListener("click", nextTheme);
  document.getElementById("help").addEventListener("click", showKeys);
  document.getElementById("keys").addEventListener("click", (event) => { if (event.target.id === "keys") event.target.close(); });
  if (location.search) history.replaceState(null, "", `/${location.hash}`);  // the token is in the cookie now
  try {
    await refresh();
  } catch (error) {
    replace(main);
    say(error);
    return;
  }
  addEventListener("hashchange", route);
  await route();
  if (runs.problems.length) say(runs.problems.join("; "));
  setTimeout(news, EVERY_MS);
}

const home = document.getElementById("home");
start();
