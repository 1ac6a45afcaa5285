// Saves what is on the screen as a picture: a map or charts, with their colours, names and key, as SVG or PNG.

const NOT_IN_PICTURE = "form, button, input, select, .save, .tip, .hidden, script";
const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-linejoin", "stroke-opacity", "opacity", "font-size", "font-weight", "text-anchor", "dominant-baseline", "visibility"];
const SHARP = 2; // pixels of a PNG for each pixel of the page

/** The SVG of an element of the page, as text. */
function pictureOf(root) {
  const box = root.getBoundingClientRect();
  const { width, height } = box;
  const { backgroundColor, fontFamily } = getComputedStyle(document.body);
  const paper = svg("rect", { width, height, fill: backgroundColor });
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": fontFamily }, paper, drawnNode(root, box));
  const text = new XMLSerializer().serializeToString(picture);
  return text.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd"); // What XML cannot hold.
}

/** An element, or a piece of text, as parts of the picture. */
function drawnNode(node, box) {
  if (node.nodeType === Node.TEXT_NODE) return drawnText(node, box);
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches(NOT_IN_PICTURE) || !node.checkVisibility()) return [];
  if (node.localName === "canvas") return drawnMap(node, box);
  if (node.localName === "svg") return drawnSvg(node, box);
  const { backgroundColor, borderTopColor, borderTopWidth, borderRadius } = getComputedStyle(node);
  const { left, top, width, height } = node.getBoundingClientRect();
  const line = parseFloat(borderTopWidth) ? { stroke: borderTopColor } : {};
  const filled = !/, 0\)$/.test(backgroundColor);
  const place = { x: left - box.left, y: top - box.top, width, height, rx: parseFloat(borderRadius) || 0 };
  const card = filled || line.stroke ? svg("rect", { ...place, fill: filled ? backgroundColor : "none", ...line }) : [];
  return [card, ...[...node.childNodes].map((child) => drawnNode(child, box))].flat(Infinity);
}

/** A piece of text, line by line as the page breaks it. */
function drawnText(node, box) {
  const { color, fontSize, fontWeight } = getComputedStyle(node.parentElement);
  const lines = [];
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const { left, top, height, width } = range.getBoundingClientRect();
    if (!width) continue;
    const last = lines.at(-1);
    if (last && Math.abs(last.top - top) < height / 2) last.words.push(word);
    else lines.push({ left, top, height, words: [word] });
  }
  return lines.map(({ left, top, height, words }) =>
    svg("text", { x: left - box.left, y: top - box.top + height / 2, "dominant-baseline": "central", fill: color, "font-size": fontSize, "font-weight": fontWeight }, words.join(" ")),
  );
}

/** A chart with the styles that it has on the page. */
function drawnSvg(node, box) {
  const copy = node.cloneNode(true);
  const [from, to] = [node, copy].map((each) => [each, ...each.querySelectorAll("*")]);
  from.forEach((each, at) => {
    const computed = getComputedStyle(each);
    for (const name of DRAWN) to[at].setAttribute(name, computed.getPropertyValue(name));
    for (const name of ["class", "style", "id"]) to[at].removeAttribute(name);
  });
  const { left, top, width, height } = node.getBoundingClientRect();
  for (const [name, value] of Object.entries({ x: left - box.left, y: top - box.top, width, height, overflow: "visible" })) copy.setAttribute(name, value);
  return copy;
}

/** The map as it is zoomed: the dots of each style as one path, and the names. */
function drawnMap(canvas, box) {
  const { left, top } = canvas.getBoundingClientRect();
  const { pixels, width, height } = plane;
  const dots = groups.map(([{ colour, shape, radius }, list]) => dotPath(shape, radius / pixels, inkOf(colour), list.map((i) => transform.apply([plane.x[i], plane.y[i]]))));
  const names = [];
  // What the canvas draws as letters becomes text.
  const pen = {
    measureText: (text) => canvas.getContext("2d").measureText(text),
    strokeText: () => {},
    fillText: (text, x, y) =>
      names.push(svg("text", { x, y, fill: pen.fillStyle, stroke: pen.strokeStyle, "stroke-width": pen.lineWidth, "stroke-linejoin": "round", "paint-order": "stroke", "text-anchor": "middle", "dominant-baseline": "central", "font-size": 12.5, "font-weight": 600, opacity: pen.globalAlpha }, text)),
  };
  drawNames(pen);
  return svg("svg", { x: left - box.left, y: top - box.top, width, height }, dots, names);
}

/** Dots as ends of lines without length, which are round or square; diamonds are drawn around. */
function dotPath(shape, radius, colour, places) {
  const at = ([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}`;
  if (shape === "diamond") {
    const r = (1.25 * radius).toFixed(2);
    return svg("path", { fill: colour, d: places.map(([x, y]) => `${at([x, y - r])}l${r} ${r}l-${r} ${r}l-${r}-${r}z`).join("") });
  }
  const cap = shape === "square" ? { "stroke-linecap": "square", "stroke-width": 1.72 * radius } : { "stroke-linecap": "round", "stroke-width": 2 * radius };
  return svg("path", { stroke: colour, fill: "none", ...cap, d: places.map((place) => `${at(place)}h0`).join("") });
}

/** The colour of a canvas pixel. */
const inkOf = (pixel) => `rgb(${pixel & 255}, ${(pixel >> 8) & 255}, ${(pixel >> 16) & 255})`;

async function savePicture({ target }) {
  const kind = target.dataset?.save;
  if (!kind) return;
  const text = pictureOf(target.closest(".picture"));
  const name = `${activeView()}.${kind}`;
  if (kind === "svg") download(name, "image/svg+xml", text);
  else downloadBlob(name, await paintedPicture(text));
}

/** The picture as a PNG file. */
async function paintedPicture(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el("canvas", { width: SHARP * image.width, height: SHARP * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
