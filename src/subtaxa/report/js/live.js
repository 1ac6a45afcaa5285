// The app: corrections go to the run at once, and the page shows the new state of the run without reloading.

Object.assign(keeper, { live: true, add: (correction) => change("edit", { correction }), listen: listenToRun });
keeper.undo = async () => ($("history-problem").textContent = await change("undo"));
let waiting = 0; // requests that have not been answered

/** Send something to the app. Returns its answer, or { problem } with one sentence. */
async function request(path, content) {
  document.body.dataset.waiting = String((waiting += 1));
  const isFile = content instanceof Blob;
  const options = content && {
    method: "POST",
    headers: { "Content-Type": isFile ? "application/octet-stream" : "application/json" },
    body: isFile ? content : JSON.stringify(content),
  };
  try {
    const response = await fetch(`api/${path}`, options);
    return await response.json();
  } catch {
    return { problem: "The app does not answer. Start it again with subtaxa open; what it has confirmed is saved." };
  } finally {
    document.body.dataset.waiting = String((waiting -= 1));
  }
}

/** Ask for a change of the run as this page knows it. Returns why it was not made, or an empty string. */
async function change(path, content = {}) {
  const answer = await request(path, { known: data.edits, ...content });
  if (answer.problem) {
    if (answer.state) takeState(answer.state); // The run was changed elsewhere: show how it is now.
    if (answer.state) showNotice(sentence(answer.problem));
    return sentence(answer.problem);
  }
  takeState(answer);
  return "";
}

/** Show the parts that a split would give, with a button that makes it. */
keeper.preview = async (c, into, split, place) => {
  place.replaceChildren(el("p", { class: "note" }, "Dividing …"));
  const answer = await request("parts", { category: c.id, into });
  if (answer.problem) return place.replaceChildren(el("p", { class: "problem" }, sentence(answer.problem)));
  const close = () => place.replaceChildren();
  place.replaceChildren(
    el("h3", {}, `It would become ${plural(answer.parts.length, "category", "categories")}`),
    el(
      "div",
      { class: "sides" },
      answer.parts.map(({ name, size, examples }) =>
        el("div", {}, el("h4", {}, user(name), ` · ${plural(size, "text")}`), listOf("texts", examples)),
      ),
    ),
    el("div", { class: "tools" }, barButton("Split like this", () => split(c, into), "main"), barButton("Cancel", close)),
  );
};

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** Show another state of the run. */
function takeState({ tree, ...fresh }) {
  if (fresh.run !== data.run) return location.reload(); // The run has other texts now.
  const focused = document.activeElement?.id;
  Object.assign(data, fresh);
  if (tree) forest = growForest(Object.assign(data.tree, tree));
  outliers = new Set(data.outliers);
  corrections.length = downloadedCount = 0;
  removeSliders();
  labelCards.length = 0;
  measured["mean-confidence"] = percent(mean(data.confidence) / 100);
  measured["n-outliers"] = formatNumber(outliers.size);
  refresh();
  if (focused && document.activeElement === document.body) $(focused)?.focus();
}

/** Look whether the run was changed elsewhere, for instance in a terminal. */
async function lookAgain() {
  if (document.hidden || corrections.length || waiting) return;
  const before = data.edits;
  const state = await request("state");
  if (state.problem || corrections.length || (state.edits === before && state.run === data.run && data.log)) return;
  takeState(state);
  if (before !== state.edits) showNotice("The run was changed elsewhere. This is the new state.");
}

function listenToRun() {
  document.body.dataset.waiting = "0";
  addEventListener("focus", lookAgain);
  document.addEventListener("visibilitychange", lookAgain);
  $("redo").addEventListener("click", redo);
  listenForSentences();
  listenForNew();
  addEventListener("keydown", answerByKey);
}
