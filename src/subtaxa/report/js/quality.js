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
};

function lookItem({ id, reasons }) {
  const c = now.categories.get(id);
  return el("li", {}, el("span", {}, badge(c), link(c), el("span", { class: "count" }, user(data.labels[c.label]))), el("span", { class: "why" }, user(reasons.join("; "))));
}
