// The result of the run, the corrections of the reader, and the result after these corrections.

const COLOURS = 8; // the classes k0 to k7 of page.css
const data = JSON.parse($("data").textContent);
const indexOfRow = new Map(data.rows.map((row, i) => [row, i]));
let outliers = new Set(data.outliers);
const lowercased = []; // the texts in lower case, for searching; filled by the first search
const corrections = [];
let downloadedCount = 0; // number of corrections that have been downloaded
let now = null; // the result after all corrections, from `computeState`

/** The categories by id, the category of each text and the texts marked as wrong, after all corrections. */
function computeState() {
  passing = passingBut();
  const categories = new Map();
  const counts = data.labels.map(() => 0);
  const recut = corrections.find(({ do: kind }) => kind === "recut");
  const numbers = recut ? numbersOf(recut.categories) : []; // by label, if it is recut
  const categoryOf = Int32Array.from(data.category);
  const unchanged = data.categories.filter((c) => !numbers[c.label]);
  for (const c of recut ? [...unchanged, ...cutCategories(numbers, categoryOf)] : unchanged) {
    const number = (counts[c.label] += 1); // within its label
    categories.set(c.id, { ...c, number, colour: (number - 1) % COLOURS, split: null, members: [], total: 0 });
  }
  const state = { categories, categoryOf, numbers, corrected: new Set(), wrong: new Set() };
  for (const correction of corrections) {
    if (correction.do === "recut") continue;
    labelsOf(state, correction).forEach((label) => state.corrected.add(label));
    applyCorrection(state, correction);
  }
  categoryOf.forEach((id, i) => {
    const c = categories.get(id);
    c.total += 1;
    if (passes(i)) c.members.push(i);
  });
  for (const c of categories.values()) {
    c.size = c.members.length; // The texts that pass the filters, of `total`.
    c.confidence = null; // Known only for the categories of the run.
    if (c.recut) continue;
    c.members.sort((a, b) => data.confidence[b] - data.confidence[a] || a - b);
    c.confidence = mean(c.members.map((i) => data.confidence[i])) / 100;
  }
  const ofLabel = data.labels.map(() => []);
  for (const c of categories.values()) ofLabel[c.label].push(c);
  state.labels = data.labels.map((name, label) => {
    const children = ofLabel[label];
    children.sort((a, b) => b.size - a.size || a.number - b.number);
    return { name, children, size: children.reduce((sum, c) => sum + c.size, 0) };
  });
  state.shown = state.labels.reduce((sum, { size }) => sum + size, 0);
  return state;
}

/** The categories that a correction names. */
const categoriesOf = ({ do: kind, category, to, categories }) =>
  ({ rename: [category], split: [category], move: [to], merge: categories, wrong: [], new: [] })[kind];

/** The labels that a correction concerns. */
function labelsOf({ categories, categoryOf }, correction) {
  const ofRows = (correction.rows ?? []).map((row) => categoryOf[indexOfRow.get(row)]);
  return new Set([...categoriesOf(correction), ...ofRows].map((id) => categories.get(id).label));
}

/** Why a correction cannot be made, or an empty string. `subtaxa edit` has the same rules. */
function whyInvalid(state, correction) {
  const { categories, numbers } = state;
  const { do: kind, category, name, rows = [] } = correction;
  if (kind === "recut") return whyNoRecut(state, correction.categories);
  const needed = categoriesOf(correction);
  if (!needed) return `“${kind}” is not a kind of correction`;
  const missing = needed.find((id) => !categories.has(id));
  if (missing !== undefined) return `there is no category ${missing}`;
  const unknown = rows.find((row) => !indexOfRow.has(row));
  if (unknown !== undefined) return `there is no row ${unknown}`;
  const labels = labelsOf(state, correction);
  const recut = [...labels].find((label) => numbers[label]);
  if (recut !== undefined) return `${quoted(data.labels[recut])} has a new number of categories: apply that first`;
  if (kind === "merge" && new Set(needed).size < 2) return "choose another category to merge with";
  if (kind === "merge" && labels.size > 1) return "only categories of one label can be merged";
  if (kind === "move" && labels.size > 1) return "a text can only move within its label";
  if (kind === "rename") {
    if (!name.trim()) return "the new name is empty";
    const c = categories.get(category);
    for (const other of categories.values()) {
      if (other.label === c.label && other.id !== c.id && other.name === name) {
        return `${quoted(data.labels[c.label])} already has a category ${quoted(name)}: merge the two instead`;
      }
    }
  }
  return "";
}

function applyCorrection(state, correction) {
  const { categories, categoryOf, wrong } = state;
  const { do: kind, rows = [] } = correction;
  if (kind === "rename") Object.assign(categories.get(correction.category), { name: correction.name, namer: "you" });
  if (kind === "split") categories.get(correction.category).split = correction.into || "some";
  if (kind === "merge") {
    const [first, ...others] = correction.categories;
    categoryOf.forEach((id, i) => {
      if (others.includes(id)) categoryOf[i] = first;
    });
    const together = [first, ...others].map((id) => categories.get(id));
    const kept = categories.get(first);
    kept.keywords = [...new Set(together.flatMap((c) => c.keywords.slice(0, 4)))];
    kept.examples = together.flatMap((c) => c.examples.slice(0, 2));
    kept.stability = null;
    kept.confused = kept.confused.filter(([id]) => !others.includes(id));
    others.forEach((id) => categories.delete(id));
  }
  for (const row of rows) {
    const i = indexOfRow.get(row);
    if (kind === "wrong") wrong.add(i);
    if (kind === "move") {
      const left = categoryOf[i];
      categoryOf[i] = correction.to;
      wrong.delete(i);
      if (left !== correction.to && !categoryOf.includes(left)) categories.delete(left);
    }
  }
}

/** A correction in plain words, given the state before it. */
function describe({ categories }, { do: kind, category, categories: together, name, into, rows, to }) {
  const called = (id) => quoted(categories.has(id) ? categories.get(id).name : id);
  if (kind === "recut") return describeRecut(together);
  if (kind === "rename") return `rename ${called(category)} to ${quoted(name)}`;
  if (kind === "merge") return `merge ${together.slice(1).map(called).join(", ")} into ${called(together[0])}`;
  if (kind === "split") return `split ${called(category)}${into ? ` into ${into}` : ""}`;
  if (kind === "move") return `move ${plural(rows.length, "text")} to ${called(to)}`;
  return `mark ${plural(rows.length, "text")} as wrong: to the next most likely category of the label`;
}

// Where corrections go: into the list of this page. In the app, they go to the run (live.js).
const keeper = {
  add(correction) {
    corrections.push({ ...correction, says: describe(now, correction) });
    refresh();
    return "";
  },
  undo() {
    corrections.pop();
    downloadedCount = Math.min(downloadedCount, corrections.length);
    refresh();
  },
};

/** Make a correction. Returns why it cannot be made, or an empty string; in the app, a promise of that. */
const addCorrection = (correction) => whyInvalid(now, correction) || keeper.add(correction);

const undo = () => (corrections.at(-1)?.do === "recut" ? setRecut(null) : keeper.undo());

/** The indices of the texts that pass the filters and contain every term of the query. */
function textsWith(query) {
  if (!lowercased.length) data.texts.forEach((text) => lowercased.push(text.toLowerCase()));
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  lowercased.forEach((text, i) => {
    if (passes(i) && terms.every((term) => text.includes(term))) found.push(i);
  });
  return terms.length ? found : [];
}
