// Which view is on screen, and what happens when something changes.

const VIEWS = {
  overview: showOverview,
  map: showMap,
  treemap: showTreemap,
  category: showCategory,
  columns: showColumns,
  numbers: null,
  training: null,
  corrections: null,
};

// What the run measured of its own categories, without filters.
const measured = Object.fromEntries(["mean-confidence", "n-outliers"].map((id) => [id, $(id).textContent]));

/** The view that the address names. */
function activeView() {
  const name = place().split("-")[0];
  return name in VIEWS && $(`view-${name}`) ? name : "overview";
}

function showView() {
  const name = activeView();
  if (selection?.category !== undefined && !now.categories.has(selection.category)) selection = null;
  for (const view of document.querySelectorAll(".view")) view.hidden = view.id !== `view-${name}`;
  for (const tab of document.querySelectorAll(".tabs a")) {
    if (tab.hash === `#${name}`) {
      tab.setAttribute("aria-current", "page");
      const bar = tab.parentNode; // On a phone, the tabs are wider than the screen.
      bar.scrollLeft = tab.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2;
    } else tab.removeAttribute("aria-current");
  }
  document.body.dataset.view = name;
  placePanel();
  const id = /^category-(\d+)$/.exec(place());
  if (name === "category") showCategory(id ? Number(id[1]) : current);
  else VIEWS[name]?.();
  updateSliders();
  showFilters();
}

/** Draw everything after a correction or another selection. */
function refresh(state = computeState()) {
  now = state;
  showFacts();
  $("found").textContent = plural(now.categories.size, "category", "categories");
  keeper.show();
  showView();
}

/** The numbers above the overview: of the texts that pass the filters. */
function showFacts() {
  const all = now.categories.size;
  const part = (n, of) => (n === of ? formatNumber(of) : `${formatNumber(n)} of ${formatNumber(of)}`);
  $("n-texts").textContent = part(now.shown, data.texts.length);
  $("count").textContent = part(passing ? [...now.categories.values()].filter((c) => c.size).length : all, all);
  const members = passing ? [...now.categories.values()].flatMap((c) => c.members) : [];
  const filtered = { "mean-confidence": percent(mean(members.map((i) => data.confidence[i])) / 100), "n-outliers": formatNumber(members.filter((i) => outliers.has(i)).length) };
  const values = passing ? filtered : measured;
  for (const [id, value] of Object.entries(values)) $(id).textContent = now.numbers.length ? "–" : value;
}

function addListeners() {
  addEventListener("hashchange", () => {
    const before = document.body.dataset.view;
    follow();
    if (document.body.dataset.view !== before || before === "category") scrollTo(0, 0);
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // The address names the view.
    $("main").focus();
  });
  addEventListener("beforeunload", (event) => {
    if (corrections.length > downloadedCount) event.preventDefault();
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !typing && activeView() === "overview") {
      event.preventDefault();
      $("search").focus();
    }
  });
  $("search").addEventListener("input", debounce(showOverview, 120));
  $("sort").addEventListener("change", showOverview);
  $("overview-tools").addEventListener("submit", (event) => event.preventDefault());
  $("tree").addEventListener("keydown", moveFocus);
  $("fold").addEventListener("click", () => {
    const all = folded.size === data.labels.length;
    data.labels.forEach((_, i) => folded[all ? "delete" : "add"](i));
    showOverview();
  });
  $("categories-csv").addEventListener("click", downloadCategories);
  $("assignments-csv").addEventListener("click", downloadAssignments);
  $("undo").addEventListener("click", undo);
  $("main").addEventListener("click", savePicture);
  addMapListeners();
  listenToTreemap();
  if ($("view-columns")) listenToColumns();
  listenForFilters();
  keeper.listen();
}
