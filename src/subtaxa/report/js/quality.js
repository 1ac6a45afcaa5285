// The quality of the run in plain words, and which categories to look at first.

VIEWS.quality = () => {
  const { facts, first } = data.quality;
  $("facts").replaceChildren(
    ...facts.map(({ name, value, says }) =>
      el("div", { class: "card" }, el("dt", {}, name), el("dd", {}, el("b", {}, value), " ", el("span", {}, says))),
    ),
  );
  const listed = first.filter(({ id }) => now.categories.has(id));
  $("first").replaceChildren(
    listed.length ? el("ol", { class: "card look" }, listed.map(lookItem)) : el("p", { class: "note" }, "No category stands out: all of them look sound."),
  );
  const pairs = data.across.filter((pair) => pair.slice(0, 2).every((id) => now.categories.has(id)));
  $("across").replaceChildren(
    pairs.length
      ? el("ul", { class: "card look" }, pairs.map(acrossItem))
      : el("p", { class: "note" }, "No: every category is closest to one of its own label."),
  );
};

/** Two categories of different labels that are alike. */
function acrossItem([first, second, near]) {
  const side = (c) => el("span", { class: "pair-side" }, badge(c), link(c), el("span", { class: "count" }, user(data.labels[c.label]), ` · ${plural(c.size, "text")}`));
  return el("li", {}, side(now.categories.get(first)), " and ", side(now.categories.get(second)), el("span", { class: "count" }, `similarity ${near.toFixed(2)}`));
}

function lookItem({ id, reasons }) {
  const c = now.categories.get(id);
  return el("li", {}, el("span", {}, badge(c), link(c), el("span", { class: "count" }, user(data.labels[c.label]))), el("span", { class: "why" }, user(reasons.join("; "))));
}
