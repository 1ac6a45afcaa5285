// All texts of a category, with a search, an order, and boxes to mark wrong ones.

const PAGE = 100; // texts shown at a time
const textActions = []; // functions that make a button for the text with an index
let textList = null; // the search, the order, the number on screen, and the ticked texts

const newTextList = (id) => ({ of: id, query: "", order: "highest", shown: PAGE, ticked: new Set() });

/** A menu of where texts belong, the name of a new category, and what is chosen as a correction of some rows. */
function targetMenu(id, categories) {
  const name = el("input", { id: `${id}-name`, maxlength: 120, placeholder: "its name (optional)", autocomplete: "off", "aria-label": "Name of the new category" });
  name.hidden = true;
  const menu = el(
    "select",
    { id, onchange: () => (name.hidden = menu.value !== "new") },
    el("option", { value: "" }, "the next most likely category"),
    keeper.live && el("option", { value: "new" }, "a new category"),
    categories.map((other) => el("option", { value: other.id }, other.name)),
  );
  const correction = (rows) => {
    if (menu.value === "new") return { do: "new", rows, name: name.value.trim() };
    return menu.value ? { do: "move", rows, to: Number(menu.value) } : { do: "wrong", rows };
  };
  return { menu, name, correction };
}

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
  const target = targetMenu("target", targets);
  const canMove = targets.length > 0 || (keeper.live && c.total > 1);
  const message = el("p", { class: "problem", role: "alert" });
  const wrong = el(
    "button",
    {
      type: "button",
      id: "mark",
      onclick: async () => {
        const rows = [...textList.ticked].map((i) => data.rows[i]).sort((a, b) => a - b);
        textList.ticked.clear();
        message.textContent = await addCorrection(target.correction(rows));
      },
    },
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
    wrong.disabled = !textList.ticked.size || !canMove;
    const ticked = textList.ticked.size ? plural(textList.ticked.size, "text") : "";
    wrong.textContent = keeper.live ? `Move ${ticked}` : ticked ? `Mark ${ticked} as wrong` : "Mark as wrong";
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
        typeof focus.colour === "string" ? "" : [user(writeValue(focus.colour, i)), " · "],
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
    el("h3", {}, c.size === c.total ? `All ${plural(c.size, "text")}` : `${formatNumber(c.size)} of ${plural(c.total, "text")} pass the filters`),
    el(
      "div",
      { class: "tools" },
      el("label", {}, "Search ", search),
      !c.recut && el("label", {}, "Sort by ", order),
      canMove && !c.recut && el("span", { class: "end" }, el("label", {}, "Ticked texts belong in ", target.menu), target.name, wrong),
    ),
    message,
    count,
    items,
    more,
  );
  fill();
}
