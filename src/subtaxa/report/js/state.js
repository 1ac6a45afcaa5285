// The result as the run has it, the reader's corrections, and the result with these carried out.

const COLOURS = 8; // the classes k0 to k7 of page.css
const data = JSON.parse($("data").textContent);
const positions = new Map(data.rows.map((row, i) => [row, i]));
const outliers = new Set(data.outliers);
const lower = []; // each text in small letters, for searching; filled when first needed
const corrections = [];
let saved = 0; // how many of them have been downloaded
let now = null; // what `derive` gave last

/** Categories by id, the category of each text, and what is marked, after all corrections. */
function derive() {
  const categories = new Map();
  const placed = data.labels.map(() => 0);
  for (const c of data.categories) {
    const place = (placed[c.label] += 1);
    categories.set(c.id, { ...c, place, colour: (place - 1) % COLOURS, split: null, members: [] });
  }
  const state = { categories, of: Int32Array.from(data.category), wrong: new Set() };
  for (const correction of corrections) carryOut(state, correction);
  state.of.forEach((id, i) => state.categories.get(id).members.push(i));
  for (const c of categories.values()) {
    c.members.sort((a, b) => data.sure[b] - data.sure[a] || a - b);
    c.size = c.members.length;
    c.sure = mean(c.members.map((i) => data.sure[i])) / 100;
  }
  state.labels = data.labels.map((name, label) => {
    const children = [...categories.values()].filter((c) => c.label === label);
    children.sort((a, b) => b.size - a.size || a.place - b.place);
    return { name, children, size: children.reduce((sum, c) => sum + c.size, 0) };
  });
  return state;
}

/** Why a correction cannot be carried out, or nothing. The same rules as in `subtaxa edit`. */
function problem({ categories, of }, correction) {
  const { do: kind, category, name, to, rows = [] } = correction;
  const needed = { rename: [category], split: [category], move: [to], merge: correction.categories, wrong: [] }[kind];
  if (!needed) return `“${kind}” is no correction`;
  const missing = needed.find((id) => !categories.has(id));
  if (missing !== undefined) return `there is no category ${missing}`;
  const unknown = rows.find((row) => !positions.has(row));
  if (unknown !== undefined) return `there is no row ${unknown}`;
  const labels = new Set(
    [...needed, ...rows.map((row) => of[positions.get(row)])].map((id) => categories.get(id).label),
  );
  if (kind === "merge" && new Set(needed).size < 2) return "choose another category to merge with";
  if (kind === "merge" && labels.size > 1) return "only categories of one label can be merged";
  if (kind === "move" && labels.size > 1) return "a text moves only within its label";
  if (kind === "rename") {
    if (!name.trim()) return "the new name is empty";
    const c = categories.get(category);
    for (const other of categories.values()) {
      if (other.label === c.label && other.id !== c.id && other.name === name) {
        return `${quoted(data.labels[c.label])} has a category ${quoted(name)} already: merge the two instead`;
      }
    }
  }
  return "";
}

function carryOut(state, correction) {
  const { categories, of, wrong } = state;
  const { do: kind, rows = [] } = correction;
  if (kind === "rename") Object.assign(categories.get(correction.category), { name: correction.name, namer: "you" });
  if (kind === "split") categories.get(correction.category).split = correction.into || "some";
  if (kind === "merge") {
    const [first, ...others] = correction.categories;
    of.forEach((id, i) => {
      if (others.includes(id)) of[i] = first;
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
    const i = positions.get(row);
    if (kind === "wrong") wrong.add(i);
    if (kind === "move") {
      const left = of[i];
      of[i] = correction.to;
      wrong.delete(i);
      if (left !== correction.to && !of.includes(left)) categories.delete(left);
    }
  }
}

/** What a correction does, in words; of the state before it. */
function words({ categories }, { do: kind, category, categories: together, name, into, rows, to }) {
  const called = (id) => quoted(categories.has(id) ? categories.get(id).name : id);
  if (kind === "rename") return `rename ${called(category)} to ${quoted(name)}`;
  if (kind === "merge") return `merge ${together.slice(1).map(called).join(", ")} into ${called(together[0])}`;
  if (kind === "split") return `split ${called(category)}${into ? ` into ${into}` : ""}`;
  if (kind === "move") return `move ${plural(rows.length, "text")} to ${called(to)}`;
  return `${plural(rows.length, "text")} marked as wrong: to the next best category of the label`;
}

/** Carry out a correction, or say why not. */
function correct(correction) {
  const why = problem(now, correction);
  if (!why) {
    corrections.push({ ...correction, says: words(now, correction) });
    changed();
  }
  return why;
}

function undo() {
  corrections.pop();
  saved = Math.min(saved, corrections.length);
  changed();
}

/** Positions of the texts with all these words in them. */
function textsWith(query) {
  if (!lower.length) data.texts.forEach((text) => lower.push(text.toLowerCase()));
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  lower.forEach((text, i) => {
    if (terms.every((term) => text.includes(term))) found.push(i);
  });
  return terms.length ? found : [];
}
