// Markdown into safe HTML, block by block, so that what has streamed in already stays untouched.
//
// HTML in the source is text, pictures are links, and links carry their address where a click does
// not find it: only the extension follows them, after a question.
import DOMPurify from "dompurify";
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import MarkdownIt from "markdown-it";
import { t } from "../l10n";

const LANGUAGES = {
  bash,
  c,
  cpp,
  css,
  diff,
  go,
  ini,
  java,
  javascript,
  json,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

const MAX_HIGHLIGHTED = 20_000;

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });
const { escapeHtml } = markdown.utils;
const { rules } = markdown.renderer;

rules.link_open = (tokens, index) => {
  const token = tokens[index];
  const href = escapeHtml(String(token?.attrGet("href") ?? ""));
  return `<a role="link" tabindex="0" data-href="${href}" title="${href}">`;
};
rules.image = (tokens, index) => {
  const token = tokens[index];
  const href = escapeHtml(String(token?.attrGet("src") ?? ""));
  const words = escapeHtml(token?.content || t("picture"));
  return `<a role="link" tabindex="0" data-href="${href}" title="${href}">${words}</a>`;
};
rules.fence = (tokens, index) => {
  const token = tokens[index];
  const language = token?.info.trim().split(/\s+/)[0] ?? "";
  return codeBlock(token?.content ?? "", language);
};
rules.code_block = (tokens, index) => codeBlock(tokens[index]?.content ?? "", "");

function codeBlock(text: string, language: string): string {
  const isKnown = language !== "" && hljs.getLanguage(language) && text.length <= MAX_HIGHLIGHTED;
  const inner = isKnown
    ? hljs.highlight(text, { language, ignoreIllegals: true }).value
    : escapeHtml(text);
  return `<div class="code"><div class="code-head"><span>${escapeHtml(language)}</span><button type="button" class="copy">${escapeHtml(t("Copy"))}</button></div><pre tabindex="0"><code>${inner}</code></pre></div>`;
}

const ALLOWED = {
  ALLOWED_TAGS: [
    ..."a b blockquote br button code del div em h1 h2 h3 h4 h5 h6 hr li ol p pre s span".split(
      " ",
    ),
    ..."strong table tbody td th thead tr ul".split(" "),
  ],
  ALLOWED_ATTR: ["class", "data-href", "role", "start", "tabindex", "title", "type"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** A text as HTML, block by block. */
export interface Rendered {
  text: string;
  /** The HTML of each block, in order. */
  blocks: readonly string[];
  /** How many of them no text that follows can change any more. */
  closed: number;
  /** Where in the text the others begin. */
  tail: number;
}

const OPEN_BLOCKS = 2;

export const NOTHING: Rendered = { text: "", blocks: [], closed: 0, tail: 0 };

/** Render a text; what it has in common with the text before is not rendered again. */
export function render(text: string, before: Rendered = NOTHING): Rendered {
  if (text === before.text) return before;
  // A lone "2" may become "2." and join the list above it, but nothing reaches further back.
  const hasGrown = before.text !== "" && text.startsWith(before.text) && !text.includes("\r");
  const start = hasGrown ? before.tail : 0;
  const kept = hasGrown ? before.blocks.slice(0, before.closed) : [];
  const [fresh, lines] = renderFrom(text.slice(start));
  const closed = Math.max(0, fresh.length - OPEN_BLOCKS);
  const tail = start + offsetOf(text.slice(start), lines[closed] ?? 0);
  return { text, blocks: [...kept, ...fresh], closed: kept.length + closed, tail };
}

/** A text as it reads, without the marks of its Markdown. */
export function plainText(text: string): string {
  const box = document.createElement("div");
  box.innerHTML = renderFrom(text)[0].join(" ");
  for (const one of box.querySelectorAll("button")) one.remove();
  return box.textContent.replace(/\s+/g, " ").trim();
}

/** The HTML of each block, and the line where each begins. */
function renderFrom(text: string): [string[], number[]] {
  const env = {};
  const tokens = markdown.parse(text, env);
  const blocks: string[] = [];
  let start = 0;
  let depth = 0;
  const lines: number[] = [];
  tokens.forEach((token, index) => {
    depth += token.nesting;
    if (depth > 0) return;
    const html = markdown.renderer.render(tokens.slice(start, index + 1), markdown.options, env);
    blocks.push(DOMPurify.sanitize(html, ALLOWED));
    lines.push(tokens[start]?.map?.[0] ?? 0);
    start = index + 1;
  });
  return [blocks, lines];
}

function offsetOf(text: string, line: number): number {
  let offset = 0;
  for (let passed = 0; passed < line; passed += 1) offset = text.indexOf("\n", offset) + 1;
  return offset;
}
