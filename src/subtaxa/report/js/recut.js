// The sliders for the number of categories: one for all labels, and one for each label.
//
// A new number is one correction, `recut`. A label has either a new number or other corrections, never both, because
// these could name categories that the new number replaces. So the file of corrections can always be applied.

const sliders = new Map(); // by label, and under null for all labels
let moving = null; // the function that carries out the last move, before the next frame
let sliding = false; // while a move is drawn

/** The number of categories of each label that a recut gives: a total, or numbers by label. */
function numbersOf(categories) {
  if (Number.isInteger(categories)) return divideTotal(categories);
  const given = new Map(Object.entries(categories));
  return forest.exactLabels.map((name) => given.get(name));
}

/** Why a recut cannot be made, or an empty string. */
function whyNoRecut({ corrected, numbers }, categories) {
  if (!forest) return "this run has no tree of categories";
  if (numbers.length) return "there is already a new number of categories";
  const [least, most] = [data.labels.length, forest.nParts];
  if (Number.isInteger(categories)) {
    if (categories < least || categories > most) return `there can be ${least} to ${most} categories`;
    if (corrected.size) return "a new total comes before all other corrections";
    return "";
  }
  for (const [name, number] of Object.entries(categories)) {
    const label = forest.exactLabels.indexOf(name);
    if (label < 0) return `there is no label ${quoted(shortened(name))}`;
    const called = quoted(data.labels[label]);
    if (number < 1 || number > forest.most[label]) return `${called} can have 1 to ${forest.most[label]} categories`;
    if (corrected.has(label)) return `a new number of categories of ${called} comes before all other corrections of it`;
  }
  return "";
}

function describeRecut(categories) {
  if (Number.isInteger(categories)) return `recut to ${plural(categories, "category", "categories")}`;
  const parts = forest.exactLabels.flatMap((name, label) =>
    Object.hasOwn(categories, name) ? `${quoted(data.labels[label])} ${categories[name]}` : [],
  );
  return `recut: ${parts.join(", ")}`;
}

/** Replace the recut by one into these categories, or take it back without any. */
function setRecut(categories) {
  const keep = [current, selection?.category].map((id) => now.categories.get(id)?.members[0] ?? now.categoryOf.indexOf(id));
  const old = corrections.findIndex(({ do: kind }) => kind === "recut");
  if (old >= 0) {
    corrections.splice(old, 1);
    downloadedCount = Math.min(downloadedCount, corrections.length);
  }
  if (categories !== null) corrections.push({ do: "recut", categories, says: describeRecut(categories) });
  downloadedCount = Math.min(downloadedCount, corrections.length - (categories !== null));
  const after = computeState();
  // Stay with the same texts: their category may have another id.
  if (keep[0] >= 0) current = after.categoryOf[keep[0]];
  if (keep[1] >= 0) selection = { category: after.categoryOf[keep[1]] };
  keepAddress(activeView() === "category" ? `category-${current}` : place());
  sliding = true;
  refresh(after);
  sliding = false;
}

/** Give a label another number of categories, or all labels together (null). Without a number, that of the run. */
function chooseNumber(label, number) {
  const numbers = label === null ? (number ? divideTotal(number) : []) : data.labels.map((_, i) => now.numbers[i]);
  if (label !== null) numbers[label] = number;
  const chosen = numbers.map((n, i) => (n && !isOfRun(i, n) ? n : null));
  if (!chosen.some(Boolean)) setRecut(null);
  else if (label === null) setRecut(number);
  else setRecut(Object.fromEntries(chosen.flatMap((n, i) => (n ? [[forest.exactLabels[i], n]] : []))));
}

/** The number of categories now, in the run, and the plausible ones, for a label or for all of them (null). */
function numberFacts(label) {
  const ranges = label === null ? forest.plausible : [forest.plausible[label]];
  const own = (i) => data.categories.filter((c) => c.label === i).length;
  const all = data.labels.map((_, i) => i);
  const ends = (end) =>
    label === null
      ? all.reduce((sum, i) => sum + (forest.plausible[i]?.[end] ?? own(i)), 0) // The number of others was given.
      : ranges[0]?.[end];
  return {
    number: label === null ? now.categories.size : now.labels[label].children.length,
    ofRun: label === null ? data.categories.length : own(label),
    range: ranges.some(Boolean) ? [ends(0), ends(1)] : null,
    least: label === null ? data.labels.length : 1,
    most: label === null ? forest.nParts : forest.most[label],
    locked: label === null ? now.corrected.size > 0 : now.corrected.has(label),
    changed: label === null ? now.numbers.some(Boolean) : Boolean(now.numbers[label]),
  };
}

/** A slider with its number, the plausible range and a button back. It is made once, because it keeps the focus. */
function slider(label) {
  if (sliders.has(label)) return sliders.get(label);
  const { least, most, range, ofRun } = numberFacts(label);
  if (least === most) return null;
  const id = label === null ? "number" : `number${label}`;
  const move = () => {
    if (!moving) requestAnimationFrame(() => moving()); // Several moves within one frame are one.
    moving = () => {
      moving = null;
      chooseNumber(label, Number(input.value));
    };
  };
  const input = el("input", { type: "range", id, min: least, max: most, value: ofRun, oninput: move });
  const number = el("output", { for: id, "aria-live": "off" });
  const back = el("button", { type: "button", onclick: () => (chooseNumber(label, null), input.focus()) });
  back.append(`${label === null ? "Back to the run’s categories" : "Back to the run’s"} (${formatNumber(ofRun)})`);
  if (label !== null) back.setAttribute("aria-label", `Back to the run’s categories of ${data.labels[label]}`);
  const plausible = range ? `plausible ${range[0] === range[1] ? range[0] : range.join(" to ")}` : "";
  const track = el("span", { class: "range" }, el("span", { class: "run-mark", title: `the run has ${ofRun}` }), input);
  const share = (n) => String(Math.min(1, Math.max(0, (n - least) / (most - least))));
  track.style.setProperty("--run", share(ofRun));
  if (range) {
    const band = el("span", { class: "band" });
    band.style.setProperty("--low", share(range[0]));
    band.style.setProperty("--high", share(range[1]));
    track.prepend(band);
  }
  const name = label === null ? "Number of categories" : "Categories";
  const node = el(
    "div",
    { class: "slider" },
    el("label", { for: id }, name, label === null ? null : el("span", { class: "hidden" }, " of ", user(data.labels[label]))),
    track,
    number,
    plausible && el("span", { class: "plausible" }, plausible),
    back,
    el("span", { class: "locked" }, "corrected: undo or apply the corrections to move it"),
  );
  sliders.set(label, node);
  return Object.assign(node, { update: () => updateSlider(label, { input, number, back, node, plausible }) });
}

function updateSlider(label, { input, number, back, node, plausible }) {
  const { number: chosen, ofRun, locked, changed } = numberFacts(label);
  if (Number(input.value) !== chosen) input.value = String(chosen);
  number.value = formatNumber(chosen);
  const says = [plural(chosen, "category", "categories"), changed && `the run has ${formatNumber(ofRun)}`, plausible];
  input.setAttribute("aria-valuetext", says.filter(Boolean).join(", "));
  input.disabled = locked;
  back.disabled = !changed;
  node.classList.toggle("is-locked", locked);
}

/** Put the slider for all labels into the view, if the view has a place for it. */
function placePanel() {
  const all = forest && slider(null);
  if (!all) return;
  const panel = $("recut");
  if (panel.hidden) panel.prepend(all);
  panel.hidden = false;
  const slot = $(`view-${activeView()}`).querySelector(".slot");
  if (slot && panel.parentNode !== slot) slot.append(panel);
}

/** Forget the sliders: they are made anew for other categories of the run. */
function removeSliders() {
  sliders.get(null)?.remove();
  sliders.clear();
  if ($("recut")) $("recut").hidden = true;
}

/** Update the sliders after every change. */
function updateSliders() {
  for (const node of sliders.values()) node.update();
  if (sliders.size) announce();
}

/** Say the new number to screen readers once the slider rests. */
const announce = debounce(() => {
  const { number, ofRun, changed } = numberFacts(null);
  const labels = data.labels.filter((_, i) => now.numbers[i]);
  const of = labels.length === 1 ? ` New number in ${labels[0]}.` : "";
  const says = `Now ${plural(number, "category", "categories")} in all labels; the run has ${formatNumber(ofRun)}.${of}`;
  const before = $("recut-live").textContent;
  $("recut-live").textContent = changed ? says : before && "These are the run’s categories.";
}, 300);
