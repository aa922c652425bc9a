// Elements are only ever made here. Text goes in as text: nothing that a model or a tool wrote is read as markup.

const SVG = "http://www.w3.org/2000/svg";
const ATTRIBUTES = new Set(["class", "id", "role", "tabindex", "type", "for", "title", "scope", "colspan", "href",
  "placeholder", "value", "hidden", "open", "disabled", "start", "name", "autocomplete", "spellcheck"]);

// What cannot be seen, or turns the order of what follows around, is shown as its code.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function shown(text) {
  const code = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return String(text).replace(UNSEEN, code).replace(LONE, code);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-") || name.startsWith("data-") || element.namespaceURI === SVG || ATTRIBUTES.has(name)) {
      element.setAttribute(name, value === true ? "" : shown(value));
    } else throw new Error(`attribute ${name} is not one that this page sets`);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
}

function el(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  return fill(element, attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function clip(text, most) {
  const flat = String(text).replace(/\s+/g, " ").trim();
  return flat.length <= most ? flat : `${flat.slice(0, most - 1)}…`;
}

function plural(count, one, several) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : several || `${one}s`}`;
}

// A part that is folded away; what is in it is made when it is opened for the first time.
function folded(summary, make, open) {
  const part = el("details.fold", {}, el("summary", {}, summary));
  const unfold = () => {
    if (part.open && part.childElementCount === 1) part.append(el("div.fold-body", {}, make()));
  };
  part.addEventListener("toggle", unfold);
  if (open) {
    part.open = true;
    unfold();
  }
  return part;
}

// Some states have a score only so that one path goes before another.
function scored(value) {
  return value && Math.abs(value) < 0.001 ? "about 0" : value.toFixed(3).replace(/\.?0+$/, "");
}

function section(title, ...content) {
  return el("section.part", {}, el("h3", {}, title), ...content);
}

// Amounts by resource, as pairs or as an object, in one line.
function amounts(pairs) {
  const list = Array.isArray(pairs) ? pairs : Object.entries(pairs || {});
  return list.map(([, text]) => text).join(" · ");
}

function table(head, rows, attributes) {
  return el("div.wide", {}, el("table", attributes || {},
    el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, rows)));
}
