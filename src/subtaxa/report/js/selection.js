// What is selected on the map, beside it: a category, or the texts that a lasso caught.

function showSelection() {
  const panel = $("selected");
  if (selection?.category !== undefined && !now.categories.has(selection.category)) selection = null;
  if (!selection) {
    panel.replaceChildren(
      el("h3", {}, "Nothing is selected"),
      el(
        "p",
        { class: "note" },
        "Each dot is a text; its colour and shape tell its label. Near dots are similar texts. How far apart distant ones are means little.",
      ),
      el(
        "p",
        { class: "note" },
        "Click a dot to see its category, or choose Lasso and draw around some texts to read or move them. The wheel zooms.",
      ),
    );
  } else if (selection.texts) {
    panel.replaceChildren(...someTexts(selection.texts));
  } else {
    const c = now.categories.get(selection.category);
    panel.replaceChildren(
      el("p", { class: "eyebrow" }, user(data.labels[c.label])),
      el("h3", {}, badge(c), link(c)),
      el(
        "p",
        { class: "facts" },
        `${plural(c.size, "text")} · confidence ${percent(c.sure)} · stability ${percent(c.stability)}`,
      ),
      listed("chips", c.keywords.slice(0, 6)),
      listed("texts", c.examples.slice(0, 4)),
      el("button", { type: "button", onclick: () => select(null) }, "Clear"),
    );
  }
}

/** What a lasso caught: of which categories, some of the texts, and where to move them. */
function someTexts(texts) {
  const counts = d3
    .rollups(
      texts,
      (list) => list.length,
      (i) => now.of[i],
    )
    .sort((a, b) => b[1] - a[1]);
  const labels = new Set(counts.map(([id]) => now.categories.get(id).label));
  const said = el("p", { class: "problem", role: "alert" });
  const target = el(
    "select",
    { id: "lasso-target" },
    el("option", { value: "" }, "the next best category"),
    ...(labels.size === 1 ? now.labels[[...labels][0]].children.map((c) => el("option", { value: c.id }, c.name)) : []),
  );
  const rows = texts.map((i) => data.rows[i]).sort((a, b) => a - b);
  const move = () =>
    (said.textContent = correct(target.value ? { do: "move", rows, to: Number(target.value) } : { do: "wrong", rows }));
  return [
    el("h3", {}, `${plural(texts.length, "text")} selected`),
    el(
      "ul",
      { class: "plain" },
      counts
        .slice(0, 8)
        .map(([id, n]) =>
          el(
            "li",
            {},
            badge(now.categories.get(id)),
            link(now.categories.get(id)),
            el("span", { class: "count" }, figure(n)),
          ),
        ),
    ),
    labels.size === 1
      ? el(
          "div",
          { class: "tools" },
          el("label", {}, "They belong to ", target),
          el("button", { type: "button", onclick: move }, "Move"),
        )
      : el("p", { class: "note" }, "They are of several labels; texts of one label can be moved."),
    said,
    listed(
      "texts",
      texts.slice(0, 30).map((i) => data.texts[i]),
    ),
    el("button", { type: "button", onclick: () => select(null) }, "Clear"),
  ];
}
