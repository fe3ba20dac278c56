
// ---- the link graph: a cheap picture at once, made better a few milliseconds at a time --------------

const STEPS = 120;
const CELL = 46;
const MOST_NEAR = 24;
const SLICE_MS = 8; // of each frame, for the layout; the rest is the person's
const REST = 4; // times as long as a picture takes, until the next one is made
const FEW_EDGES = 1500; // as lines; more are set as pixels, which is sixty times quicker
const GOLDEN = 2.399963; // the golden angle: an even spread without chance
const MOST_LABELS = 300;

const graph = {
  files: [], layers: [], x: new Float64Array(0), y: new Float64Array(0), degree: new Int32Array(0),
  edges: new Int32Array(0), left: 0, scale: 1, atX: 0, atY: 0, isMoved: false, isRunning: false,
  drawnAt: 0, cost: 0,
};

/** What leads somewhere or is led to; made once, for a page never changes. */
function layOut() {
  if (!graph.files.length) {
    graph.files = state.files.filter((file) => file.links.length || file.inlinks.length);
    const index = new Map(graph.files.map((file, i) => [file.path, i]));
    graph.edges = Int32Array.from(graph.files.flatMap((file, i) =>
      file.links.filter((path) => index.has(path)).flatMap((path) => [i, index.get(path)]),
    ));
    const count = graph.files.length;
    for (const name of ["x", "y", "dx", "dy"]) graph[name] = new Float64Array(count);
    graph.degree = new Int32Array(count);
    for (const end of graph.edges) graph.degree[end]++;
    graph.layers = LAYERS.map((layer) => [...index.values()].filter((i) => graph.files[i].layer === layer));
    seed(count);
    graph.left = STEPS;
  }
  fit();
  if (!graph.isRunning) requestAnimationFrame(refine);
  graph.isRunning = true;
}

/** The first picture: what is linked most stands in a spiral, newest within, and its links around it. */
function seed(count) {
  const { degree, edges, x, y } = graph;
  const most = new Int32Array(count).fill(-1); // the neighbour with most links
  const prefer = (i, other) => {
    if (most[i] < 0 || degree[other] > degree[most[i]]) most[i] = other;
  };
  for (let e = 0; e < edges.length; e += 2) { prefer(edges[e], edges[e + 1]); prefer(edges[e + 1], edges[e]); }
  const around = new Map(); // by centre, in the order of the timeline
  const leads = (i) => degree[most[i]] < degree[i] || (degree[most[i]] === degree[i] && i <= most[i]);
  for (let i = 0; i < count; i++) if (leads(i)) around.set(i, []);
  for (let i = 0; i < count; i++) if (!around.has(i)) around.get(most[i])?.push(i) ?? around.set(i, []);
  let before = 0;
  let turn = 0;
  for (const [centre, others] of around) {
    const far = 12 * Math.sqrt(before + others.length / 2 + 0.5);
    x[centre] = far * Math.cos(turn);
    y[centre] = far * Math.sin(turn);
    others.forEach((other, k) => {
      x[other] = x[centre] + 10 * Math.sqrt(k + 1) * Math.cos(k * GOLDEN);
      y[other] = y[centre] + 10 * Math.sqrt(k + 1) * Math.sin(k * GOLDEN);
    });
    before += others.length + 1;
    turn += GOLDEN;
  }
}

/** Steps of the layout while the frame has time for them; a new picture now and then. */
function refine(now) {
  graph.isRunning = graph.left > 0 && !$("graph").hidden;
  if (!graph.isRunning) return;
  const begun = performance.now();
  do step(); while (graph.left && performance.now() - begun < SLICE_MS);
  $("graph").dataset.left = graph.left;
  if (!graph.left || now - graph.drawnAt > REST * graph.cost) fit();
  requestAnimationFrame(refine);
}

/** One step of a spring layout; only neighbours in a grid push each other, so it stays linear. */
function step() {
  push();
  pull();
  const { x, y, dx, dy } = graph;
  const most = 1 + 9 * (graph.left / STEPS);
  for (let i = 0; i < x.length; i++) {
    const far = Math.hypot(dx[i], dy[i]) || 1;
    const share = Math.min(far, most) / far;
    x[i] += dx[i] * share;
    y[i] += dy[i] * share;
    dx[i] = dy[i] = 0;
  }
  graph.left--;
}

function push() {
  const { x, y, dx, dy } = graph;
  const count = x.length;
  const size = 2 ** Math.ceil(Math.log2(2 * count + 2));
  const cell = (a, b) => ((a * 73856093) ^ (b * 19349663)) & (size - 1); // two cells may share a place
  const first = new Int32Array(size).fill(-1);
  const next = new Int32Array(count);
  const held = new Uint8Array(size);
  for (let i = 0; i < count; i++) {
    const at = cell(Math.floor(x[i] / CELL), Math.floor(y[i] / CELL));
    if (held[at] === MOST_NEAR) continue;
    held[at]++;
    next[i] = first[at];
    first[at] = i;
  }
  for (let i = 0; i < count; i++) {
    const column = Math.floor(x[i] / CELL), row = Math.floor(y[i] / CELL);
    let sumX = -x[i] * 0.002, sumY = -y[i] * 0.002;
    for (let a = column - 1; a <= column + 1; a++)
      for (let b = row - 1; b <= row + 1; b++)
        for (let j = first[cell(a, b)]; j >= 0; j = next[j]) {
          const towardX = x[i] - x[j], towardY = y[i] - y[j];
          const far = towardX * towardX + towardY * towardY;
          if (far > CELL * CELL || j === i) continue;
          sumX += (60 * towardX) / (far + 4);
          sumY += (60 * towardY) / (far + 4);
        }
    dx[i] += sumX;
    dy[i] += sumY;
  }
}

function pull() {
  const { x, y, dx, dy, degree, edges } = graph;
  for (let e = 0; e < edges.length; e += 2) {
    const a = edges[e], b = edges[e + 1];
    const towardX = 0.06 * (x[b] - x[a]), towardY = 0.06 * (y[b] - y[a]);
    const one = 1 / Math.sqrt(1 + degree[a]), two = 1 / Math.sqrt(1 + degree[b]);
    dx[a] += towardX * one; dy[a] += towardY * one;
    dx[b] -= towardX * two; dy[b] -= towardY * two;
  }
}

// ---- its picture ------------------------------------------------------------------------------------

/** As large as the window; the whole of it in sight until the person moves it. */
function fit() {
  const canvas = $("canvas");
  const width = canvas.clientWidth * devicePixelRatio, height = canvas.clientHeight * devicePixelRatio;
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  if (!graph.isMoved) {
    let far = 60;
    for (let i = 0; i < graph.x.length; i++) far = Math.max(far, Math.abs(graph.x[i]), Math.abs(graph.y[i]));
    graph.scale = Math.min(width, height) / (2.2 * far);
    graph.atX = width / 2;
    graph.atY = height / 2;
  }
  drawGraph();
}

function drawGraph() {
  const begun = performance.now();
  const pen = $("canvas").getContext("2d");
  const style = getComputedStyle(document.body);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  pen.clearRect(0, 0, pen.canvas.width, pen.canvas.height);
  drawEdges(pen, colour("line"));
  const wanted = $("query").value.trim() ? new Set(state.rows) : null;
  const labelled = [];
  graph.layers.forEach((nodes, k) => {
    pen.fillStyle = colour(LAYERS[k]);
    for (const i of nodes) {
      const x = screenX(i), y = screenY(i);
      if (x < -20 || y < -20 || x > pen.canvas.width + 20 || y > pen.canvas.height + 20) continue;
      const file = graph.files[i];
      pen.globalAlpha = !wanted || wanted.has(file) ? 1 : 0.2;
      dot(pen, x, y, radius(i) * graph.scale);
      if (!wanted || wanted.has(file)) labelled.push(i);
    }
  });
  pen.globalAlpha = 1;
  drawOpen(pen, colour("accent"));
  if (labelled.length <= MOST_LABELS) drawLabels(pen, labelled, colour("ink"));
  graph.drawnAt = begun;
  graph.cost = performance.now() - begun;
}

function drawEdges(pen, colour) {
  if (graph.edges.length / 2 > FEW_EDGES) return setEdges(pen, parseInt(colour.slice(1), 16));
  pen.lineWidth = devicePixelRatio;
  pen.strokeStyle = colour;
  pen.beginPath();
  for (let e = 0; e < graph.edges.length; e += 2) {
    pen.moveTo(screenX(graph.edges[e]), screenY(graph.edges[e]));
    pen.lineTo(screenX(graph.edges[e + 1]), screenY(graph.edges[e + 1]));
  }
  pen.stroke();
}

/** Pixel by pixel: a path of thousands of lines that cross takes a second to fill. */
function setEdges(pen, colour) {
  const { width, height } = pen.canvas;
  if (!width || !height) return;
  const image = pen.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const swapped = ((colour & 255) << 16) | (colour & 0xff00) | (colour >> 16);
  const value = (0xff000000 | swapped) >>> 0;
  for (let e = 0; e < graph.edges.length; e += 2) {
    const x = screenX(graph.edges[e]), y = screenY(graph.edges[e]);
    const alongX = screenX(graph.edges[e + 1]) - x, alongY = screenY(graph.edges[e + 1]) - y;
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(alongX), Math.abs(alongY))));
    const [from, to] = inSight(x, alongX, width, inSight(y, alongY, height, [0, 1]));
    for (let k = Math.ceil(from * steps); k <= to * steps; k++) {
      const column = Math.floor(x + (alongX * k) / steps), row = Math.floor(y + (alongY * k) / steps);
      if (column >= 0 && row >= 0 && column < width && row < height) pixels[row * width + column] = value;
    }
  }
  pen.putImageData(image, 0, 0);
}

/** Which share of a line, of those given, lies between 0 and an end; along one axis. */
function inSight(at, along, end, [from, to]) {
  if (!along) return at >= 0 && at < end ? [from, to] : [1, 0];
  const one = -at / along, two = (end - at) / along;
  return [Math.max(from, Math.min(one, two)), Math.min(to, Math.max(one, two))];
}

/** Small ones are square: nobody sees the difference, and they are drawn in half the time. */
function dot(pen, x, y, size) {
  if (size < 2) return pen.fillRect(x - size, y - size, 2 * size, 2 * size);
  pen.beginPath();
  pen.arc(x, y, size, 0, 7);
  pen.fill();
}

function drawOpen(pen, colour) {
  const at = graph.files.indexOf(state.open);
  if (at < 0) return;
  pen.fillStyle = colour;
  dot(pen, screenX(at), screenY(at), Math.max(4 * devicePixelRatio, radius(at) * graph.scale));
}

function drawLabels(pen, nodes, colour) {
  pen.fillStyle = colour;
  pen.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  for (const i of nodes) {
    const aside = radius(i) * graph.scale + 2 * devicePixelRatio;
    pen.fillText(graph.files[i].title, screenX(i) + aside, screenY(i) + 4 * devicePixelRatio);
  }
}

const radius = (i) => 3 + Math.min(8, Math.sqrt(graph.degree[i]));
const screenX = (i) => graph.x[i] * graph.scale + graph.atX;
const screenY = (i) => graph.y[i] * graph.scale + graph.atY;

// ---- the person at it ---------------------------------------------------------------------------------

function nodeAt(event) {
  const x = event.offsetX * devicePixelRatio, y = event.offsetY * devicePixelRatio;
  for (let i = graph.files.length - 1; i >= 0; i--)
    if (Math.hypot(screenX(i) - x, screenY(i) - y) < radius(i) * graph.scale + 3 * devicePixelRatio)
      return graph.files[i];
  return null;
}

/** A new picture with the next frame, however often it is asked for. */
function drawSoon() {
  if (graph.isAwaited) return;
  graph.isAwaited = true;
  requestAnimationFrame(() => {
    graph.isAwaited = false;
    drawGraph();
  });
}

function listenToGraph() {
  const canvas = $("canvas");
  let held = null;
  canvas.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY, false]; });
  canvas.addEventListener("pointermove", (event) => {
    if (held && event.buttons) {
      graph.atX += (event.clientX - held[0]) * devicePixelRatio;
      graph.atY += (event.clientY - held[1]) * devicePixelRatio;
      const isMoved = held[2] || event.clientX !== held[0] || event.clientY !== held[1];
      held = [event.clientX, event.clientY, isMoved];
      graph.isMoved ||= isMoved;
      drawSoon();
    } else $("graph-name").textContent = nodeAt(event)?.path || "";
  });
  canvas.addEventListener("click", (event) => {
    const file = nodeAt(event);
    if (file && !(held && held[2])) open(file.path);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    graph.isMoved = true;
    const factor = Math.exp(-event.deltaY / 400);
    graph.atX = event.offsetX * devicePixelRatio * (1 - factor) + graph.atX * factor;
    graph.atY = event.offsetY * devicePixelRatio * (1 - factor) + graph.atY * factor;
    graph.scale *= factor;
    drawSoon();
  }, { passive: false });
  addEventListener("resize", () => ($("graph").hidden ? drawRows() : fit()));
}
