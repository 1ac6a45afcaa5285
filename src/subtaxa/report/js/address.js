// The address of the page has the view and the selection: filters, column, label and open category. So a link restores
// them, and back goes to what was seen before.
//
// A plain link such as #map changes only the view. Its entry in the history is completed when it is visited.

const focus = { colour: "label", label: null }; // what colours show ("label", "category" or a column), and the only label
let foreign = []; // columns of the address that this run does not have

/** The view in the address, such as category-12. */
const place = () => location.hash.slice(1).split("?")[0];

/** The address of the present selection in a view. */
function address(view = place()) {
  const query = new URLSearchParams();
  if (focus.colour === "category") query.set("colour", "category");
  else if (focus.colour !== "label") query.set("column", focus.colour.key);
  if (focus.label !== null) query.set("label", data.labels[focus.label]);
  const opened = selection?.category;
  if (opened !== undefined && view !== `category-${opened}`) query.set("open", opened);
  for (const [column, { codes, low = null, high = null, none }] of filters) {
    for (const code of codes ?? []) query.append(`is.${column.key}`, column.values[code]);
    const ends = [low, high].map((end) => (end === null ? "" : writeEnd(column, end)));
    if (ends.some(Boolean)) query.set(`is.${column.key}`, ends.join(".."));
    if (none) query.set(`none.${column.key}`, "yes");
  }
  const text = query.toString();
  return `#${view || "overview"}${text && `?${text}`}`;
}

const writeEnd = ({ kind }, end) => (kind === "date" ? date(end).toISOString().split("T")[0] : String(end));

function readEnd({ kind }, text) {
  const number = text === "" ? NaN : kind === "date" ? Date.parse(text) / DAY : Number(text);
  return Number.isFinite(number) ? number : null;
}

/** Take the selection from the address. */
function readAddress() {
  const query = new URLSearchParams(location.hash.split("?").slice(1).join("?"));
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const asked = (name) => byKey.get(name) ?? (foreign.push(name), null);
  foreign = [];
  focus.colour = query.has("column") ? (asked(query.get("column")) ?? "label") : query.get("colour") === "category" ? "category" : "label";
  const label = data.labels.indexOf(query.get("label"));
  focus.label = label < 0 ? null : label;
  const opened = /^category-(\d+)$/.exec(place())?.[1] ?? query.get("open");
  selection = opened === null ? null : { category: Number(opened) };
  filters.clear();
  for (const name of new Set(query.keys())) {
    const [, kind, key] = /^(is|none)\.(.*)$/s.exec(name) ?? [];
    const column = kind && asked(key);
    if (column) filters.set(column, readFilter(column, query.getAll(`is.${key}`), query.has(`none.${key}`)));
  }
  for (const [column, filter] of filters) if (!isFilter(filter)) filters.delete(column);
}

function readFilter(column, given, none) {
  if (column.kind === "category") return { codes: new Set(given.map((value) => column.values.indexOf(value)).filter((code) => code >= 0)), none };
  const [low, high] = (given[0] ?? "").split("..").map((end) => readEnd(column, end));
  return { low: low ?? null, high: high ?? null, none };
}

/** Write the selection into the present entry of the history. */
const keepAddress = (view = place()) => history.replaceState({ known: true }, "", address(view));

/** Show another selection as a new entry of the history. */
function visit() {
  if (address() !== location.hash) history.pushState({ known: true }, "", address());
  refresh();
}

/** A link was followed, or the reader went back or forward. */
function follow() {
  const before = filters.size;
  if (history.state?.known || location.hash.includes("?")) readAddress();
  else {
    const opened = /^category-(\d+)$/.exec(place());
    if (opened) selection = { category: Number(opened[1]) };
  }
  keepAddress();
  if (before || filters.size) refresh();
  else showView();
}
