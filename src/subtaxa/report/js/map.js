// The map: every text is drawn on a canvas as a dot; d3 zooms and finds what is below the pointer.

const SIDE = 10000; // width and height of the map in the data
const HOVER_RADIUS = 12; // pixels from the pointer to a dot
const MAX_NAMES = 80; // names drawn at once
const plane = { width: 0, height: 0, x: new Float32Array(data.texts.length), y: new Float32Array(data.texts.length) };
let transform = d3.zoomIdentity;
let visible = []; // indices of the dots that can be chosen; those that the filters hide are faint
let quadtree = null; // of the visible dots, made when the pointer first looks for one
let groups = []; // dots by style: [style, indices]
let nameAnchors = []; // where the name of each category goes
let selection = null; // { category } or { texts }
const [HIDDEN, FADED, CLEAR] = [0, 1, 2]; // how clearly a dot is drawn
let lasso = null; // the line while it is drawn
let frame = 0; // the requested animation frame

const zoom = d3
  .zoom()
  .scaleExtent([0.7, 60])
  .filter((event) => event.type === "wheel" || (mode() === "pan" && !event.button))
  .on("zoom", (event) => {
    transform = event.transform;
    $("tip").hidden = true;
    draw();
  });
const mode = () => $("map-tools").elements.mode.value;
const style = (name, node = document.body) => getComputedStyle(node).getPropertyValue(name).trim();

/** Draw the map according to the state and the controls. */
function showMap() {
  $("shown").replaceChildren(
    el("option", { value: "" }, "all labels"),
    ...data.labels.map((name, i) => el("option", { value: i, selected: i === focus.label }, name)),
  );
  fillColourMenu($("colour"));
  layOut();
  groupDots();
  draw();
  showSelection();
}

/** Compute the position of every dot in pixels, before zooming. */
function layOut() {
  const canvas = $("canvas");
  const box = $("plane").getBoundingClientRect();
  const pixels = devicePixelRatio || 1;
  Object.assign(plane, { width: box.width, height: box.height, pixels });
  canvas.width = Math.round(box.width * pixels);
  canvas.height = Math.round(box.height * pixels);
  const scale = (0.92 * Math.min(box.width, box.height)) / SIDE;
  for (let i = 0; i < data.texts.length; i++) {
    plane.x[i] = box.width / 2 + (data.x[i] - SIDE / 2) * scale;
    plane.y[i] = box.height / 2 + (data.y[i] - SIDE / 2) * scale;
  }
  zoom
    .extent([
      [0, 0],
      [box.width, box.height],
    ])
    .translateExtent([
      [-box.width, -box.height],
      [2 * box.width, 2 * box.height],
    ]);
}

/** Group the dots by style, and compute where the names go. */
function groupDots() {
  const colours = colouring();
  const query = $("find").value.trim();
  const found = query ? new Set(textsWith(query)) : null;
  const marked = selection?.texts ? new Set(selection.texts) : null;
  const looks = new Map();
  visible = [];
  quadtree = null;
  const put = (i, layer, group) => {
    const look = `${layer}${group}`;
    if (!looks.has(look)) looks.set(look, { layer, group, list: [] });
    looks.get(look).list.push(i);
  };
  now.categoryOf.forEach((id, i) => {
    if (focus.label !== null && now.categories.get(id).label !== focus.label) return;
    if (!passes(i)) return put(i, HIDDEN, -1);
    visible.push(i);
    const faded = (found && !found.has(i)) || (marked ? !marked.has(i) : selection && selection.category !== id);
    put(i, faded ? FADED : CLEAR, colours.of(i));
  });
  groups = [...looks.values()]
    .sort((a, b) => a.layer - b.layer || a.group - b.group) // faint dots first, so that they lie below
    .map(({ layer, group, list }) => [dotStyle(layer === HIDDEN ? noLook() : colours.look(group), layer, visible.length), list]);
  nameAnchors = [...now.categories.values()]
    .filter((c) => c.size && (focus.label === null || c.label === focus.label))
    .sort((a, b) => (b.id === selection?.category) - (a.id === selection?.category) || b.size - a.size)
    .map((c) => ({ c, x: d3.median(c.members, (i) => plane.x[i]), y: d3.median(c.members, (i) => plane.y[i]) }));
  $("key").replaceChildren(...keyItems(colours));
}

/** The style of a dot: its colour, and its pixels as offsets from its centre, which is much faster than paths. */
function dotStyle({ colour, shape, none }, layer, crowd) {
  const room = Math.min(1, Math.max(0.6, Math.min(plane.width, plane.height) / 560)); // smaller dots on a phone
  const radius = Math.max(1, (crowd > 20000 ? 1.3 : crowd > 4000 ? 2.1 : 3.1) * room * plane.pixels);
  const reach = Math.ceil(radius);
  const inside = {
    round: (x, y) => x * x + y * y <= radius * radius + 0.3,
    square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.86 * radius,
    diamond: (x, y) => Math.abs(x) + Math.abs(y) <= 1.25 * radius,
  }[shape];
  const steps = [];
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) if (inside(x, y)) steps.push(y * $("canvas").width + x);
  }
  return { colour: blend(colour, style("--card"), layer === CLEAR ? (none ? 0.5 : 0.9) : layer === FADED ? 0.2 : 0.16), steps, reach, shape, radius };
}

/** One colour over another with this opacity, as a canvas pixel. */
function blend(over, under, share) {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [over, under].map((hex) => parseInt(hex.slice(at, at + 2), 16));
    return Math.round(share * a + (1 - share) * b);
  });
  return ((255 << 24) | (parts[2] << 16) | (parts[1] << 8) | parts[0]) >>> 0;
}

function draw() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => {
    const context = $("canvas").getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    const { width, height } = context.canvas;
    const { pixels } = plane;
    if (!width || !height) return;
    const picture = context.createImageData(width, height);
    const paper = new Uint32Array(picture.data.buffer);
    const { k, x, y } = transform;
    for (const [{ colour: ink, steps, reach }, list] of groups) {
      for (const i of list) {
        const left = Math.round((k * plane.x[i] + x) * pixels);
        const top = Math.round((k * plane.y[i] + y) * pixels);
        if (left < reach || top < reach || left >= width - reach || top >= height - reach) continue;
        const middle = top * width + left;
        for (const step of steps) paper[middle + step] = ink;
      }
    }
    context.putImageData(picture, 0, 0);
    context.scale(pixels, pixels);
    drawNames(context);
    if (lasso) drawLasso(context);
  });
}

/** Draw the names, largest categories first, and leave out those that would overlap another. */
function drawNames(context) {
  context.font = `600 12.5px ${style("font-family")}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = style("--card");
  context.fillStyle = style("--text");
  const placed = [];
  for (const { c, x, y } of nameAnchors) {
    if (placed.length >= MAX_NAMES) break;
    const [left, top] = transform.apply([x, y]);
    const name = c.name.length > 34 ? `${c.name.slice(0, 33)}…` : c.name;
    const half = context.measureText(name).width / 2 + 5;
    const inside = left > half && left < plane.width - half && top > 10 && top < plane.height - 10;
    if (!inside || placed.some((p) => Math.abs(p.left - left) < p.half + half && Math.abs(p.top - top) < 19)) continue;
    placed.push({ left, top, half });
    context.globalAlpha = selection && selection.category !== c.id ? 0.45 : 1;
    context.strokeText(name, left, top);
    context.fillText(name, left, top);
  }
  context.globalAlpha = 1;
  $("canvas").dataset.names = placed.length;
}

function drawLasso(context) {
  context.strokeStyle = context.fillStyle = style("--link");
  context.lineWidth = 2;
  context.setLineDash([6, 4]);
  context.beginPath();
  lasso.forEach(([x, y]) => context.lineTo(x, y));
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 0.08;
  context.fill();
  context.globalAlpha = 1;
}

/** The dot under the pointer, if any. */
function dotAt(event) {
  const [x, y] = transform.invert(d3.pointer(event, $("canvas")));
  const [left, top] = [(i) => plane.x[i], (i) => plane.y[i]];
  quadtree ??= d3.quadtree(visible, left, top);
  return quadtree.find(x, y, HOVER_RADIUS / transform.k);
}

function hover(event) {
  if (lasso) {
    lasso.push(d3.pointer(event, $("canvas")));
    draw();
    return;
  }
  const i = dotAt(event);
  $("tip").hidden = i === undefined;
  $("canvas").classList.toggle("hovering", i !== undefined);
  if (i === undefined) return;
  const c = now.categories.get(now.categoryOf[i]);
  const text = data.texts[i].length > 280 ? `${data.texts[i].slice(0, 279)}…` : data.texts[i];
  $("tip").replaceChildren(
    el("p", { dir: "auto" }, text),
    el("p", { class: "note" }, user(data.labels[c.label]), " · ", user(c.name), c.recut ? "" : ` · ${percent(data.confidence[i] / 100)}`),
    typeof focus.colour === "string" ? "" : el("p", { class: "note" }, user(focus.colour.name), ": ", user(writeValue(focus.colour, i))),
  );
  const [x, y] = d3.pointer(event, $("plane"));
  const { offsetWidth, offsetHeight } = $("tip");
  $("tip").style.left = `${Math.max(4, Math.min(x + 14, plane.width - offsetWidth - 4))}px`;
  $("tip").style.top = `${y + offsetHeight + 24 > plane.height ? Math.max(4, y - offsetHeight - 10) : y + 16}px`;
}

function select(what) {
  selection = what;
  if (what?.category !== undefined) current = what.category;
  if (address() !== location.hash) history.pushState({ known: true }, "", address());
  groupDots();
  draw();
  showSelection();
}

function endLasso() {
  const line = lasso;
  lasso = null;
  if (!line || line.length < 3) return draw();
  const inside = visible.filter((i) => d3.polygonContains(line, transform.apply([plane.x[i], plane.y[i]])));
  select(inside.length ? { texts: inside } : null);
}

function addMapListeners() {
  const canvas = $("canvas");
  const view = d3.select(canvas).call(zoom).on("dblclick.zoom", null);
  const keys = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  canvas.addEventListener("pointerdown", (event) => {
    if (mode() === "lasso" && !event.button) {
      lasso = [d3.pointer(event, canvas)];
      canvas.setPointerCapture(event.pointerId);
    }
  });
  canvas.addEventListener("pointermove", hover);
  canvas.addEventListener("pointerup", endLasso);
  canvas.addEventListener("pointercancel", endLasso);
  canvas.addEventListener("pointerleave", () => ($("tip").hidden = true));
  canvas.addEventListener("click", (event) => {
    if (mode() !== "pan") return;
    const i = dotAt(event);
    select(i === undefined ? null : { category: now.categoryOf[i] });
  });
  canvas.addEventListener("keydown", (event) => {
    const { k } = transform;
    if (keys[event.key]) view.call(zoom.translateBy, ...keys[event.key].map((step) => step / k));
    else if (event.key === "+" || event.key === "=") view.call(zoom.scaleBy, 1.4);
    else if (event.key === "-") view.call(zoom.scaleBy, 1 / 1.4);
    else if (event.key === "0") view.call(zoom.transform, d3.zoomIdentity);
    else if (event.key === "Escape") select(null);
    else return;
    event.preventDefault();
  });
  $("closer").addEventListener("click", () => view.call(zoom.scaleBy, 1.6));
  $("farther").addEventListener("click", () => view.call(zoom.scaleBy, 1 / 1.6));
  $("whole").addEventListener("click", () => view.call(zoom.transform, d3.zoomIdentity));
  $("colour").addEventListener("change", ({ target }) => chooseColour(target.value));
  $("shown").addEventListener("change", ({ target }) => chooseLabel(target.value === "" ? null : Number(target.value)));
  $("find").addEventListener(
    "input",
    debounce(() => select(selection), 150),
  );
  $("map-tools").addEventListener("change", () => canvas.classList.toggle("lasso", mode() === "lasso"));
  $("map-tools").addEventListener("submit", (event) => event.preventDefault());
  const redraw = debounce(() => activeView() === "map" && showMap(), 100);
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
