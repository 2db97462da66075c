"""The live view's page."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Gym-Anything: your turn</title>
<style>
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif }
body { margin: 0 auto; max-width: 1400px; padding: 8px }
#screen { max-width: 100%; display: block; cursor: crosshair; outline: 1px solid #8888; user-select: none }
#screen.busy { opacity: .6; cursor: progress }
form, p { margin: 6px 0; display: flex; gap: 6px; flex-wrap: wrap; align-items: center }
input[type=text] { flex: 1; min-width: 12em; font: inherit } button, select { font: inherit }
#said { color: #c33; min-height: 1.4em }
</style></head><body>
<p><b>Task:</b> <span>@TASK@</span></p>
<img id="screen" alt="the screen" draggable="false">
<p><label>Mouse <select id="kind"><option value="left_click">click</option><option value="double_click">double click
</option><option value="right_click">right click</option><option value="middle_click">middle click</option>
<option value="move">move</option></select></label> drag: press, move, release
<label>wheel <select id="wheel"><option>3</option><option>1</option><option>10</option></select></label>
<button id="up">up</button><button id="down">down</button>
<button id="wait">wait 1 s</button><button id="done">I am done</button></p>
<form id="typing"><input type="text" id="text" placeholder="text to type" autocomplete="off">
<button>type</button></form>
<form id="chord"><input type="text" id="keys" placeholder="keys, such as ctrl+s or Return" autocomplete="off">
<button>press</button></form>
<p id="said" role="status"></p>
<script>
const token = "@TOKEN@", $ = id => document.getElementById(id), screen_ = $("screen");
let frame = -1, pressed = null, last = null, over = false;
async function act(wish) {
  screen_.classList.add("busy");
  const answer = await fetch("/act?token=" + token, {method: "POST", body: JSON.stringify(wish)});
  const said = await answer.json().catch(() => ({problem: "not taken"}));
  $("said").textContent = said.problem || "";
  if (said.problem) screen_.classList.remove("busy");
}
async function look() {
  try {
    const state = await (await fetch("/state?token=" + token)).json();
    if (state.frame !== frame && state.frame > 0) {
      frame = state.frame;
      screen_.src = "/screen.png?token=" + token + "&frame=" + frame;
      screen_.classList.remove("busy");
      $("said").textContent = state.said;
    }
  } catch (error) { if (!over) $("said").textContent = "the episode is over"; over = true; return; }
  setTimeout(look, 250);
}
const place = event => {
  const box = screen_.getBoundingClientRect(), w = screen_.naturalWidth, h = screen_.naturalHeight;
  const fit = (v, size, most) => Math.max(0, Math.min(most - 1, Math.floor(v / size * most)));
  return [fit(event.clientX - box.left, box.width, w), fit(event.clientY - box.top, box.height, h)];
};
screen_.addEventListener("pointerdown", e => {
  if (e.button === 1) e.preventDefault();  // no scrolling by the wheel button
  if (e.button !== 0) return;
  pressed = place(e);
  screen_.setPointerCapture(e.pointerId);
});
screen_.addEventListener("pointerup", e => {
  const from = pressed;
  pressed = null;
  if (!from || e.button !== 0) return;
  const far = Math.hypot(place(e)[0] - from[0], place(e)[1] - from[1]) > 6;
  last = place(e);
  act([{mouse: far ? {left_click_drag: [from, last]} : {[$("kind").value]: last}}]);
});
screen_.addEventListener("pointercancel", () => { pressed = null; });
const other = (button, e) => { e.preventDefault(); last = place(e); act([{mouse: {[button]: last}}]); };
screen_.addEventListener("contextmenu", e => other("right_click", e));
screen_.addEventListener("auxclick", e => { if (e.button === 1) other("middle_click", e); });
const turn = sign => act([{mouse: {...(last ? {move: last} : {}), scroll: sign * Number($("wheel").value)}}]);
$("up").onclick = () => turn(-1); $("down").onclick = () => turn(1);
$("wait").onclick = () => act([{action: "wait", time: 1}]);
$("done").onclick = () => act("done");
const sends = (form, field, wish) => $(form).addEventListener("submit", e => {
  e.preventDefault(); if ($(field).value) act(wish($(field).value)); $(field).value = "";
});
sends("typing", "text", text => [{keyboard: {text}}]);
sends("chord", "keys", keys => [{keyboard: {keys: [keys]}}]);
look();
</script></body></html>
"""
