/* SPDX-License-Identifier: MIT */
/* Looks at the page of `make report` in a frame of a browser: tests/system/test_report.sh puts this behind it. Adds lines
   to the page around the frame: sizes, then what is wrong. */
"use strict";

const wrong = [];
const round = box => [box.left, box.top, box.right, box.bottom].map(Math.round).join(" ");

/* Each line of each text that is seen, and each picture. */
function seen() {
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode, parent = node.parentElement;
        if (!node.data.trim() || parent.closest("script, style, title")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const style = getComputedStyle(parent);
        const scale = parent.ownerSVGElement ? parent.getScreenCTM().a : 1;
        const size = parseFloat(style.fontSize) * scale;
        if (size < 10.5) wrong.push(`letters of ${size.toFixed(1)} pixels: ${node.data.trim().slice(0, 40)}`);
        if (!parent.ownerSVGElement && contrast(parent) < 4.5)
            wrong.push(`contrast of ${contrast(parent).toFixed(1)}: ${node.data.trim().slice(0, 40)}`);
        for (const box of range.getClientRects())
            if (box.width > 1) found.push({box, node, slack: 0.25 * box.height, name: node.data.trim().slice(0, 30)});
        const picture = parent.ownerSVGElement && parent.ownerSVGElement.getBoundingClientRect(), box = range.getBoundingClientRect();
        if (picture && (box.left < picture.left - 1 || box.right > picture.right + 1))
            wrong.push(`${node.data} ends outside of its chart`);
    }
    for (const node of document.querySelectorAll("svg, img")) {
        const box = node.getBoundingClientRect();
        if (node.complete === false || box.width < 10) wrong.push(`no picture: ${node.alt}`);
        found.push({box, node, slack: 1, name: node.alt || node.localName});
    }
    return found;
}

function luminance(color) {
    const part = color.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

function contrast(element) {
    let behind = element;
    while (behind && /rgba\(.*, 0\)/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
    const a = luminance(getComputedStyle(element).color);
    const b = luminance(behind ? getComputedStyle(behind).backgroundColor : "rgb(255, 255, 255)");
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/* Lines of text may touch by what no letter fills. A text inside of a picture lies over it. */
function overlaps(all) {
    for (let i = 0; i < all.length; ++i)
        for (let j = i + 1; j < all.length; ++j) {
            const p = all[i], q = all[j];
            if (p.node === q.node || p.node.contains(q.node) || q.node.contains(p.node)) continue;
            const width = Math.min(p.box.right, q.box.right) - Math.max(p.box.left, q.box.left);
            const height = Math.min(p.box.bottom, q.box.bottom) - Math.max(p.box.top, q.box.top);
            if (width > 1 && height > Math.max(1, Math.min(p.slack, q.slack)))
                wrong.push(`${p.name} (${round(p.box)}) lies over ${q.name} (${round(q.box)})`);
        }
}

/* quantity -> the number that was first said of it */
const numbers = new Map();

/* Two numbers are the same where both are roundings of one. */
function say(what, text, where) {
    const value = parseFloat(text), digits = (text.split(".")[1] || "").length;
    const half = 0.5000001 * 10 ** -digits;
    const first = numbers.get(what);
    if (!first) numbers.set(what, {value, half, where});
    else if (Math.abs(value - first.value) > half + first.half)
        wrong.push(`${what} is ${text} (${where}) and ${first.value} (${first.where})`);
}

const each = (pattern, text, f) => { for (const match of text.matchAll(pattern)) f(...match.slice(1)); };

/* Times as fast as stock, seconds, and what gemm takes: in the answer, sentences, charts and tables. */
function quantities() {
    const text = document.body.innerText;
    for (const title of document.querySelectorAll("circle > title"))
        each(/^(\S+): ([0-9.]+)x, (.*)$/g, title.textContent, (name, x, series) => say(`${series} of ${name}`, x, "chart"));
    for (const table of document.querySelectorAll("pre"))
        if (/^variant +seconds +x stock/.test(table.innerText))
            each(/^(\S+) +([0-9.]+) +([0-9.]+) +yes/gm, table.innerText, (name, seconds, x) => {
                say(`a pass (make detect-all) of ${name}`, x, "table");
                say(`seconds of ${name} in detect-all`, seconds, "table");
            });
    each(/(\S+) detects fastest of .*: ([0-9.]+) s a pass.*, ([0-9.]+) times as fast as stock/g, text, (name, seconds, x) => {
        say(`a pass (make detect-all) of ${name}`, x, "sentence");
        say(`seconds of ${name} in detect-all`, seconds, "sentence");
    });
    each(/Take (\S+): a pass of \S+ takes [0-9.]+ ms, ([0-9.]+) times as fast/g, text, (name, x) => say(`a pass of ${name}, ab`, x, "answer"));
    each(/^(\S+) against stock on .*, a pass ([0-9.]+) times as fast/gm, text, (name, x) => say(`a pass of ${name}, ab`, x, "sentence"));
    each(/under stock gemm takes ([0-9.]+) of ([0-9.]+) s/g, text, gemm => say("gemm of stock", gemm, "sentence"));
    return numbers.size;
}

addEventListener("load", () => {
    const shown = getComputedStyle(document.body).backgroundColor;
    const page = document.scrollingElement;
    if (page.scrollWidth > page.clientWidth) wrong.push(`the page is ${page.scrollWidth} wide in ${page.clientWidth}`);
    const all = seen();
    overlaps(all);
    const count = quantities();
    const lines = [`${innerWidth} pixels, ${shown}, ${all.length} parts, ${count} quantities`, ...wrong];
    parent.document.body.append(Object.assign(document.createElement("pre"), {textContent: lines.map(line => `said: ${line}\n`).join("")}));
});
