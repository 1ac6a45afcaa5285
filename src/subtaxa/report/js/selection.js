// The panel beside the map: the selected category, or the texts inside the lasso.

function showSelection() {
  const panel = $("selected");
  if (!selection) {
    panel.replaceChildren(
      el("h3", {}, "Nothing selected"),
      el(
        "p",
        { class: "note" },
        `Each dot is a text; its colour and shape show its ${colourName()}. `,
        passing ? "The faint dots do not pass the filters. " : "",
        "Texts that are close together are similar. Distances between texts that are far apart mean little.",
      ),
      el(
        "p",
        { class: "note" },
        "Click a dot to see its category. Choose Lasso and draw around texts to read or move them. Scroll to zoom.",
      ),
    );
  } else if (selection.texts) {
    panel.replaceChildren(...lassoPanel(selection.texts));
  } else {
    const c = now.categories.get(selection.category);
    panel.replaceChildren(
      el("p", { class: "eyebrow" }, user(data.labels[c.label])),
      el("h3", {}, badge(c), link(c)),
      el(
        "p",
        { class: "facts" },
        `${plural(c.size, "text")} · confidence ${percent(c.confidence)} · stability ${percent(c.stability)}`,
      ),
      listOf("chips", c.keywords.slice(0, 6)),
      listOf("texts", c.examples.slice(0, 4)),
      el("button", { type: "button", onclick: () => select(null) }, "Clear"),
    );
  }
}

/** The texts inside the lasso: their categories, some of the texts, and a form to move them. */
function lassoPanel(texts) {
  const counts = d3
    .rollups(
      texts,
      (list) => list.length,
      (i) => now.categoryOf[i],
    )
    .sort((a, b) => b[1] - a[1]);
  const labels = new Set(counts.map(([id]) => now.categories.get(id).label));
  const message = el("p", { class: "problem", role: "alert" });
  const target = targetMenu("lasso-target", labels.size === 1 ? now.labels[[...labels][0]].children : []);
  const rows = texts.map((i) => data.rows[i]).sort((a, b) => a - b);
  const move = async () => (message.textContent = await addCorrection(target.correction(rows)));
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
            el("span", { class: "count" }, formatNumber(n)),
          ),
        ),
    ),
    labels.size === 1 && !now.numbers[[...labels][0]]
      ? el(
          "div",
          { class: "tools" },
          el("label", {}, "Move them to ", target.menu),
          target.name,
          el("button", { type: "button", onclick: move }, "Move"),
        )
      : el(
          "p",
          { class: "note" },
          labels.size === 1
            ? "This label has a new number of categories. Apply it first; then texts can be moved."
            : "These texts have different labels. Only texts of one label can be moved together.",
        ),
    message,
    listOf(
      "texts",
      texts.slice(0, 30).map((i) => data.texts[i]),
    ),
    el("button", { type: "button", onclick: () => select(null) }, "Clear"),
  ];
}
