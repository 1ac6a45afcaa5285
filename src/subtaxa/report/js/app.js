// Which view is on screen, and what happens when something changes.

const VIEWS = {
  overview: showOverview,
  map: showMap,
  category: showCategory,
  numbers: null,
  training: null,
  corrections: null,
};

// What the run measured of its own categories.
const measured = Object.fromEntries(["mean-confidence", "n-outliers"].map((id) => [id, $(id).textContent]));

/** The view that the address names. */
function activeView() {
  const name = location.hash.slice(1).split("-")[0];
  return name in VIEWS && $(`view-${name}`) ? name : "overview";
}

function showView() {
  const name = activeView();
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
  const id = /^#category-(\d+)$/.exec(location.hash);
  if (name === "category") showCategory(id ? Number(id[1]) : current);
  else VIEWS[name]?.();
  updateSliders();
}

/** Draw everything after a correction. */
function refresh(state = computeState()) {
  now = state;
  $("count").textContent = formatNumber(now.categories.size);
  for (const [id, value] of Object.entries(measured)) $(id).textContent = now.numbers.length ? "–" : value;
  $("found").textContent = plural(now.categories.size, "category", "categories");
  keeper.show();
  showView();
}

function addListeners() {
  addEventListener("hashchange", () => {
    showView();
    scrollTo(0, 0);
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
  keeper.listen();
}
