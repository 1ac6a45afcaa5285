// All texts of a category, with a search, an order, and boxes to mark wrong ones.

const PAGE = 100; // texts shown at a time
const textActions = []; // functions that make a button for the text with an index
let textList = null; // the search, the order, the number on screen, and the ticked texts

const newTextList = () => ({ query: "", order: "highest", shown: PAGE, ticked: new Set() });

/** Draw the texts of the category with a search, an order, and a box for each text. */
function showTexts(c, label) {
  const search = el("input", { id: "text-search", type: "search", value: textList.query, autocomplete: "off" });
  const order = el(
    "select",
    { id: "text-order" },
    [
      ["highest", "highest confidence first"],
      ["lowest", "lowest confidence first"],
      ["row", "order of the file"],
    ].map(([value, name]) => el("option", { value, selected: value === textList.order }, name)),
  );
  const targets = label.children.filter((other) => other !== c);
  const target = el(
    "select",
    { id: "target" },
    el("option", { value: "" }, "the next most likely category"),
    targets.map((other) => el("option", { value: other.id }, other.name)),
  );
  const message = el("p", { class: "problem", role: "alert" });
  const wrong = el(
    "button",
    {
      type: "button",
      id: "mark",
      onclick: async () => {
        const rows = [...textList.ticked].map((i) => data.rows[i]).sort((a, b) => a - b);
        textList.ticked.clear();
        message.textContent = await addCorrection(
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
      textList.shown += PAGE;
      fill();
    },
  });
  const count = el("p", { class: "note", role: "status" });
  const fill = () => {
    const terms = textList.query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = c.members.filter((i) => terms.every((term) => data.texts[i].toLowerCase().includes(term)));
    if (textList.order === "lowest") found.reverse();
    if (textList.order === "row" || c.recut) found.sort((a, b) => data.rows[a] - data.rows[b]);
    items.replaceChildren(...found.slice(0, textList.shown).map(item));
    more.hidden = found.length <= textList.shown;
    more.textContent = `Show ${formatNumber(Math.min(PAGE, found.length - textList.shown))} more`;
    count.textContent = terms.length ? `${formatNumber(found.length)} of ${plural(c.size, "text")} match` : "";
    tick();
  };
  const tick = () => {
    wrong.disabled = !textList.ticked.size || !targets.length;
    wrong.textContent = textList.ticked.size ? `Mark ${plural(textList.ticked.size, "text")} as wrong` : "Mark as wrong";
  };
  const item = (i) => {
    const box = el("input", {
      type: "checkbox",
      checked: textList.ticked.has(i),
      onchange: () => {
        textList.ticked[box.checked ? "add" : "delete"](i);
        tick();
      },
    });
    return el(
      "li",
      { class: now.wrong.has(i) ? "wrong" : "" },
      c.recut ? user(data.texts[i]) : el("label", {}, box, user(data.texts[i])),
      el(
        "span",
        { class: "count" },
        outliers.has(i) && !c.recut ? "outlier · " : "",
        now.wrong.has(i) ? "marked as wrong · " : "",
        `row ${data.rows[i]}${c.recut ? "" : ` · ${percent(data.confidence[i] / 100)}`}`,
        textActions.map((make) => make(i)),
      ),
    );
  };
  search.addEventListener(
    "input",
    debounce(() => {
      Object.assign(textList, { query: search.value, shown: PAGE });
      fill();
    }, 120),
  );
  order.addEventListener("change", () => {
    Object.assign(textList, { order: order.value, shown: PAGE });
    fill();
  });
  $("texts").replaceChildren(
    el("h3", {}, `All ${plural(c.size, "text")}`),
    el(
      "div",
      { class: "tools" },
      el("label", {}, "Search ", search),
      !c.recut && el("label", {}, "Sort by ", order),
      targets.length > 0 && !c.recut && el("span", { class: "end" }, el("label", {}, "Ticked texts belong in ", target), wrong),
    ),
    message,
    count,
    items,
    more,
  );
  fill();
}
