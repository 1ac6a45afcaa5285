// All texts of a category: to search, to order, and to mark those that are wrong.

const PAGE = 100; // texts shown at a time
let list = null; // the search, the order, how many are shown and which are ticked

const fresh = () => ({ query: "", order: "sure", shown: PAGE, ticked: new Set() });

/** The texts of the category with a search, an order, and boxes to tick those that are wrong. */
function showTexts(c, label) {
  const search = el("input", { id: "text-search", type: "search", value: list.query, autocomplete: "off" });
  const order = el(
    "select",
    { id: "text-order" },
    [
      ["sure", "most certain first"],
      ["unsure", "least certain first"],
      ["row", "as in the file"],
    ].map(([value, name]) => el("option", { value, selected: value === list.order }, name)),
  );
  const targets = label.children.filter((other) => other !== c);
  const target = el(
    "select",
    { id: "target" },
    el("option", { value: "" }, "the next best category"),
    targets.map((other) => el("option", { value: other.id }, other.name)),
  );
  const said = el("p", { class: "problem", role: "alert" });
  const wrong = el(
    "button",
    {
      type: "button",
      id: "mark",
      onclick: () => {
        const rows = [...list.ticked].map((i) => data.rows[i]).sort((a, b) => a - b);
        list.ticked.clear();
        said.textContent = correct(
          target.value ? { do: "move", rows, to: Number(target.value) } : { do: "wrong", rows },
        );
      },
    },
    "Mark as wrong",
  );
  const items = el("ul", { class: "texts all" });
  const more = el("button", {
    type: "button",
    onclick: () => {
      list.shown += PAGE;
      fill();
    },
  });
  const count = el("p", { class: "note", role: "status" });
  const fill = () => {
    const terms = list.query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = c.members.filter((i) => terms.every((term) => data.texts[i].toLowerCase().includes(term)));
    if (list.order === "unsure") found.reverse();
    if (list.order === "row") found.sort((a, b) => data.rows[a] - data.rows[b]);
    items.replaceChildren(...found.slice(0, list.shown).map(item));
    more.hidden = found.length <= list.shown;
    more.textContent = `Show ${figure(Math.min(PAGE, found.length - list.shown))} more`;
    count.textContent = terms.length ? `${figure(found.length)} of ${plural(c.size, "text")} match` : "";
    tick();
  };
  const tick = () => {
    wrong.disabled = !list.ticked.size || !targets.length;
    wrong.textContent = list.ticked.size ? `Mark ${plural(list.ticked.size, "text")} as wrong` : "Mark as wrong";
  };
  const item = (i) => {
    const box = el("input", {
      type: "checkbox",
      checked: list.ticked.has(i),
      onchange: () => {
        list.ticked[box.checked ? "add" : "delete"](i);
        tick();
      },
    });
    return el(
      "li",
      { class: now.wrong.has(i) ? "wrong" : "" },
      el("label", {}, box, user(data.texts[i])),
      el(
        "span",
        { class: "count" },
        outliers.has(i) ? "fits nowhere · " : "",
        now.wrong.has(i) ? "marked as wrong · " : "",
        `row ${data.rows[i]} · ${percent(data.sure[i] / 100)}`,
      ),
    );
  };
  search.addEventListener(
    "input",
    later(() => {
      Object.assign(list, { query: search.value, shown: PAGE });
      fill();
    }, 120),
  );
  order.addEventListener("change", () => {
    Object.assign(list, { order: order.value, shown: PAGE });
    fill();
  });
  $("texts").replaceChildren(
    el("h3", {}, `All ${plural(c.size, "text")}`),
    el(
      "div",
      { class: "tools" },
      el("label", {}, "Search ", search),
      el("label", {}, "Order ", order),
      targets.length > 0 && el("span", { class: "end" }, el("label", {}, "Ticked texts belong to ", target), wrong),
    ),
    said,
    count,
    items,
    more,
  );
  fill();
}
