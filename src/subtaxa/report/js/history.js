// What happened to the run, and the bar below that says what has just happened.

let seen = data.edits; // edits that the bar has shown or that were there at the start
keeper.show = showHistory;

function showHistory() {
  const log = data.log ?? [];
  const last = log.findLast(({ active }) => active);
  $("corrected").hidden = !log.length;
  $("corrected").textContent = String(log.length);
  $("undo").disabled = !last;
  $("redo").disabled = !data.redo;
  $("log").hidden = !log.length;
  $("log-empty").hidden = log.length > 0;
  $("log").replaceChildren(...log.map(historyItem).reverse());
  const recut = corrections[0]; // The only correction that is not made at once: a preview of another number.
  if (recut) showBar(el("span", { class: "last" }, `Preview: ${recut.says}`), barButton("Back", undo), barButton("Keep", () => keep(recut), "main"));
  else if (data.edits > seen) showBar(el("span", { class: "last" }, "Saved: ", user(log.at(-1).says)), last ? barButton("Undo", undo) : null, data.redo ? barButton("Redo", redo) : null, barButton("Hide", hideBar));
  else if (!$("pending").dataset.notice) hideBar();
  seen = data.edits;
}

const historyItem = ({ at, do: kind, says, active }) =>
  el(
    "li",
    { class: kind === "undo" || active ? "" : "undone" },
    user(says),
    el("time", { class: "count", datetime: at }, at ? new Date(at).toLocaleString() : ""),
    kind === "undo" || active ? null : el("span", { class: "flag" }, "undone"),
  );

const redo = async () => ($("history-problem").textContent = await change("redo"));

const barButton = (name, work, kind = "") => el("button", { type: "button", class: kind, onclick: work }, name);

function showBar(text, ...buttons) {
  const bar = $("pending");
  delete bar.dataset.notice;
  bar.hidden = false;
  bar.replaceChildren(text, el("span", { class: "end" }, ...buttons));
}

/** A sentence that stays until it is read. */
function showNotice(text) {
  showBar(el("span", {}, text), barButton("Close", hideBar));
  $("pending").dataset.notice = "yes";
}

function hideBar() {
  $("pending").hidden = true;
  delete $("pending").dataset.notice;
}

/** Write the number of categories that the sliders show to the run. */
async function keep({ do: kind, categories }) {
  const why = await keeper.add({ do: kind, categories });
  if (why) showNotice(why);
}
