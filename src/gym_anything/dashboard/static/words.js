// Numbers and states in words.

export const STATUSES = ["passed", "failed", "broken", "unfinished"];
export const GLYPHS = { passed: "✓", failed: "✗", broken: "!", unfinished: "…" };

export const statusOf = (status) => (STATUSES.includes(status) ? status : "unfinished");

export function seconds(value) {
  if (typeof value !== "number") return "";
  if (value < 0.0995) return `${(value * 1000).toFixed(value < 0.00995 ? 1 : 0)} ms`;
  if (value < 120) return `${value.toFixed(value < 9.95 ? 2 : 1)} s`;
  const minutes = Math.round(value / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  const units = ["kB", "MB", "GB"];
  let number = value, unit = -1;
  do { number /= 1000; unit += 1; } while (number >= 999.5 && unit < 2);
  return `${number.toFixed(number < 9.95 ? 1 : 0)} ${units[unit]}`;
}

export const score = (value) => (typeof value === "number" ? String(Math.round(value * 10) / 10) : "");

export function when(iso) {
  const time = new Date(iso || "");
  if (Number.isNaN(time.getTime())) return "";
  const two = (n) => String(n).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

export const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
export const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));
