// Where one is: everything that can be linked to stands behind the # of the address.

export function here() {
  const raw = location.hash.slice(1) || "/";
  const cut = raw.indexOf("?");
  const path = (cut < 0 ? raw : raw.slice(0, cut)).split("/").slice(1).map(decoded);
  return { page: path[0] || "", path: path.slice(1), where: new URLSearchParams(cut < 0 ? "" : raw.slice(cut + 1)) };
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

export function link(page, parts, where) {
  const path = ["", page, ...parts.map(encodeURIComponent)].filter((part, n) => n === 0 || part !== "").join("/");
  const words = where && String(where);
  return `#${path || "/"}${words ? `?${words}` : ""}`;
}

export const runLink = (id, step) => link("run", id.split("/"), step ? new URLSearchParams({ step }) : null);
export const compareLink = (a, b) => link("compare", [a, b]);

/** Change what stands behind the ? without a new entry in the history. */
export function rewrite(changes) {
  const { page, path, where } = here();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") where.delete(key);
    else where.set(key, value);
  }
  history.replaceState(null, "", link(page, path, where));
  return where;
}

let lastList = "#/";
export const listLink = () => lastList;
export function keepList() { lastList = location.hash || "#/"; }
