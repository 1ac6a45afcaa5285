// New texts: drop a file, see which categories its texts get, and add them to the run.

let newFile = null; // what the app said about the dropped file
let newTexts = { state: "none" };
const refused = new Set(); // proposals that were accepted or refused here

VIEWS.new = () => {
  if (newTexts.state === "none") askNew();
  else showNew();
};

async function askNew() {
  takeNew(await request("new"));
}

function takeNew(answer) {
  if (answer.problem && !answer.state) return ($("new-problem").textContent = sentence(answer.problem));
  const before = newTexts.state;
  newTexts = answer;
  $("new-problem").textContent = answer.problem ? sentence(answer.problem) : "";
  showNew();
  if (answer.state === "kept" && before === "keeping") location.reload(); // The run has other texts now.
  if (["working", "keeping"].includes(answer.state)) setTimeout(askNew, 500);
}

async function dropNew(file) {
  $("new-problem").textContent = "";
  const answer = await request(`upload?name=${encodeURIComponent(file.name)}`, file);
  newFile = answer.problem ? null : answer;
  $("new-problem").textContent = answer.problem ? sentence(answer.problem) : "";
  showNew();
}

const postNew = async (path, content = {}) => takeNew(await request(path, content));

function showNew() {
  const place = $("new-place");
  const { state, name, done, total, left } = newTexts;
  if (state === "working" || state === "keeping") {
    const says = state === "keeping" ? "Adding the texts to the run …" : `${name}: ${formatNumber(done)} of ${plural(total, "text")}${left === null ? "" : `, about ${left} s left`}`;
    place.replaceChildren(
      el("p", { role: "status" }, says),
      el("progress", { max: total, value: state === "working" ? done : null, "aria-label": "Progress" }),
      state === "working" ? el("p", {}, barButton("Stop", () => postNew("new-discard"))) : "",
    );
  } else if (state === "ready") place.replaceChildren(...assignedTexts());
  else place.replaceChildren(...(state === "kept" ? proposals() : []), ...columnForm());
}

/** The column of the dropped file that has the texts. */
function columnForm() {
  if (!newFile) return [];
  const column = el("select", { id: "new-column" }, newFile.columns.map((name) => el("option", { value: name, selected: name === newFile.text }, name)));
  const go = (event) => {
    event.preventDefault();
    const { upload } = newFile;
    newFile = null;
    postNew("new-assign", { upload, text: column.value });
  };
  return [el("form", { class: "tools", onsubmit: go }, el("label", {}, `Texts of ${newFile.name} are in `, column), el("button", { class: "main" }, "Assign to categories"))];
}

/** The categories that the new texts got, with some of their texts, and what to do next. */
function assignedTexts() {
  const known = newTexts.counts.filter(([id]) => now.categories.has(id)).sort((a, b) => b[1] - a[1]);
  const of = d3.group(newTexts.texts, ([, id]) => id);
  return [
    el("p", {}, `${plural(newTexts.total, "new text")} of ${newTexts.name} in ${plural(known.length, "category", "categories")}; ${formatNumber(newTexts.outliers)} fit none well. Nothing is written yet.`),
    el(
      "div",
      { class: "tools" },
      barButton("Add them to the run", () => postNew("new-keep"), "main"),
      barButton("Discard", () => postNew("new-discard")),
      el("span", { class: "note" }, "Adding keeps the categories and may propose new ones. Earlier changes can then no longer be undone."),
    ),
    ...known.map(([id, n]) => {
      const c = now.categories.get(id);
      return el(
        "details",
        { class: "card new-category" },
        el("summary", {}, badge(c), user(c.name), el("span", { class: "count" }, ` · ${plural(n, "new text")} beside ${formatNumber(c.size)}`)),
        el("ul", { class: "texts" }, (of.get(id) ?? []).slice(0, 50).map(([text, , sure, out]) => el("li", {}, user(text), el("span", { class: "count" }, ` · ${percent(sure / 100)}${out ? " · outlier" : ""}`)))),
        el("p", {}, link(c)),
      );
    }),
  ];
}

/** Cards of the categories that were proposed for new texts that resemble each other. */
function proposals() {
  const open = newTexts.proposed.filter(({ id }) => now.categories.has(id) && !refused.has(id));
  const done = el("p", { role: "status" }, "The texts are in the run.");
  return [
    done,
    ...open.map(({ id, instead }) => {
      const c = now.categories.get(id);
      const accept = () => (refused.add(id), showNew());
      const refuse = async () => ($("new-problem").textContent = await change("edit", { correction: { do: "merge", categories: [instead, id] } }));
      return el(
        "section",
        { class: "card question" },
        el("p", { class: "eyebrow" }, "Proposed new category · ", user(data.labels[c.label])),
        el("h3", {}, badge(c), link(c), el("span", { class: "count" }, ` ${plural(c.size, "text")}`)),
        listOf("texts", c.examples),
        el(
          "div",
          { class: "tools" },
          barButton("Accept", accept, "main"),
          instead !== null && now.categories.has(instead) ? barButton("Refuse", refuse) : null,
          instead !== null && now.categories.has(instead) ? el("span", { class: "note" }, "Refused, its texts join ", user(now.categories.get(instead).name), ".") : null,
        ),
      );
    }),
  ];
}

function listenForNew() {
  $("new-file").addEventListener("change", ({ target }) => {
    if (target.files.length) dropNew(target.files[0]);
    target.value = "";
  });
  addEventListener("dragover", (event) => activeView() === "new" && event.preventDefault());
  addEventListener("drop", (event) => {
    if (activeView() !== "new") return;
    event.preventDefault();
    if (event.dataTransfer.files.length) dropNew(event.dataTransfer.files[0]);
  });
}
