// The panel drawn in a page, for tests: what it shows, what it asks for, and what it keeps.
//
// The page has no layout: tests say how high boxes that scroll are, and an IntersectionObserver
// that knows these heights tells what is on the screen.
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, vi } from "vitest";
import type { FromPanel, ToPanel } from "../src/messages";
import { App } from "../src/view/app";
import { type Drafts, NO_DRAFTS } from "../src/view/drafts";
import { Keeper, KeptContext } from "../src/view/kept";
import { type Known, learn, UNKNOWN } from "../src/view/store";
import type { UpdateParams } from "../src/wire";
import { snapshot } from "./golden";

export let root: HTMLElement;
export let known: Known;
/** What the panel asked for; what it shows of what waits is in `shown`. */
export let said: FromPanel[];
export let shown: Extract<FromPanel, { type: "shown" }>[];

beforeEach(() => {
  document.body.innerHTML = '<div id="root"></div>';
  root = document.getElementById("root") as HTMLElement;
  heights.clear();
  vi.stubGlobal("IntersectionObserver", Observer);
  begin();
});

let reader: Keeper;

/** A new page, as after a reload: it knows what the page before it kept. */
export function begin(drafts: Drafts = NO_DRAFTS, keeper = new Keeper()): void {
  render(null, root);
  reader = keeper;
  known = { ...UNKNOWN, drafts };
  said = [];
  shown = [];
}

export function kept(): Drafts {
  return JSON.parse(JSON.stringify(known.drafts)) as Drafts;
}

export async function draw(): Promise<void> {
  await act(() =>
    render(
      <KeptContext.Provider value={reader}>
        <App
          known={known}
          post={(one) => {
            if (one.type === "shown") shown.push(one);
            else said.push(one);
          }}
          keep={(change) => {
            known = { ...known, drafts: change(known.drafts) };
          }}
        />
      </KeptContext.Provider>,
      root,
    ),
  );
  await look();
}

/** Show what the extension says, one message after the other. */
export async function check(...messages: ToPanel[]): Promise<void> {
  for (const one of messages) {
    known = learn(known, one);
    await draw();
  }
}

/** Learn messages that come within one frame; they are not drawn yet. */
export function hear(...messages: ToPanel[]): void {
  for (const one of messages) known = learn(known, one);
}

/** Ask for something; what was asked before is forgotten. */
export function forget(): void {
  said = [];
}

export const running: ToPanel = { type: "server", server: { is: "running" } };

export function told(params: UpdateParams[]): ToPanel[] {
  const start = snapshot(params.slice(0, 1));
  return [
    running,
    { type: "snapshot", snapshot: start },
    ...params.slice(1).map((one) => ({ type: "updates", params: one }) as const),
  ];
}

export function all<T extends Element = Element>(selector: string): T[] {
  return [...root.querySelectorAll<T>(selector)];
}

export function texts(selector: string): string[] {
  return all(selector).map((one) => one.textContent);
}

/** The button of this name; one of a card that is not shown is not meant. */
export function button(name: string): HTMLButtonElement {
  const found = all<HTMLButtonElement>("button").find(
    (one) =>
      (one.getAttribute("aria-label") ?? one.textContent).trim() === name &&
      !one.closest("[hidden]"),
  );
  if (!found) throw new Error(`no button says ${name}; there are ${texts("button").join(", ")}`);
  return found;
}

export async function click(name: string): Promise<void> {
  await act(() => button(name).click());
  await draw();
}

export async function type(field: Element | null, words: string): Promise<void> {
  const area = field as HTMLTextAreaElement;
  await act(() => {
    area.value = words;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

export async function press(target: Element | null, key: string, more: KeyboardEventInit = {}) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  await act(() => void target?.dispatchEvent(event));
  await draw();
}

/** What is seen and what there is of a box that scrolls, in pixels, by its selector. */
const heights = new Map<string, { seen: number; whole: number }>();

/** Say how high the boxes of a selector are; those that nothing is said of show all. */
export function high(selector: string, seen: number, whole: number): void {
  heights.set(selector, { seen, whole });
}

function heightOf(box: Element): { seen: number; whole: number } | undefined {
  return [...heights].find(([selector]) => box.matches(selector))?.[1];
}

export async function scroll(box: Element | undefined, top: number): Promise<void> {
  if (!box) throw new Error("there is nothing to scroll");
  box.scrollTop = top;
  await look();
}

const observers = new Set<Observer>();

async function look(): Promise<void> {
  await act(() => {
    for (const one of observers) one.look();
  });
}

class Observer {
  readonly #targets = new Set<Element>();
  readonly #tell: IntersectionObserverCallback;

  constructor(tell: IntersectionObserverCallback) {
    this.#tell = tell;
  }

  observe(target: Element): void {
    this.#targets.add(target);
    observers.add(this);
  }

  disconnect(): void {
    this.#targets.clear();
    observers.delete(this);
  }

  look(): void {
    for (const target of this.#targets) {
      const isIntersecting = isOnScreen(target);
      const entry = { target, isIntersecting, intersectionRatio: isIntersecting ? 1 : 0 };
      this.#tell([entry as unknown as IntersectionObserverEntry], this as never);
    }
  }
}

/** Where the end of a payload stands in a box: at its end, or at the end of its step. */
function endIn(box: Element, end: Element, whole: number): number {
  if (!box.matches("ol")) return whole;
  const steps = [...box.children];
  const step = steps.findIndex((one) => one.contains(end));
  return ((step + 1) / steps.length) * whole;
}

function boxesOf(end: Element): { box: Element; at: number; seen: number }[] {
  const found = [];
  for (let box = end.parentElement; box; box = box.parentElement) {
    const height = heightOf(box);
    if (height) found.push({ box, at: endIn(box, end, height.whole), seen: height.seen });
  }
  return found;
}

function isOnScreen(end: Element): boolean {
  if (!end.isConnected || end.closest("[hidden]")) return false;
  return boxesOf(end).every(
    ({ box, at, seen }) => at > box.scrollTop && at <= box.scrollTop + seen,
  );
}

Element.prototype.scrollIntoView = function scrollIntoView(this: Element): void {
  for (const { box, at, seen } of boxesOf(this)) box.scrollTop = Math.max(0, at - seen);
};
