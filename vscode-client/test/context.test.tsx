// @vitest-environment happy-dom
// What goes with a prompt: chips, completion, paste and drop, and earlier prompts.
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";
import { Images, SentChips } from "../src/attach";
import type { Chip, FromPanel, Here, ToPanel } from "../src/messages";
import { App } from "../src/view/app";
import { dropped, pasted, withChips } from "../src/view/attach";
import type { Drafts } from "../src/view/drafts";
import { earlier } from "../src/view/history";
import { type Known, learn, UNKNOWN } from "../src/view/store";
import type { CompletionRow, Update } from "../src/wire";
import { snapshot } from "./golden";

let root: HTMLElement;
let known: Known;
let said: FromPanel[];

const HERE: Here = { name: "prices.py", selection: "prices.py:13-15", title: "shop/prices.py" };
const FILE: Chip = {
  kind: "file",
  name: "cart.py",
  title: "shop/cart.py",
  part: { type: "file", uri: "file:///w/shop/cart.py" },
};
const ROWS: CompletionRow[] = [
  {
    kind: "file",
    label: "shop/prices.py",
    detail: "",
    insert: "@shop/prices.py",
    part: { type: "file", uri: "file:///w/shop/prices.py" },
  },
  {
    kind: "folder",
    label: "shop/",
    detail: "",
    insert: "@shop/",
    part: { type: "folder", uri: "file:///w/shop" },
  },
];

beforeEach(async () => {
  document.body.innerHTML = '<div id="root"></div>';
  root = document.getElementById("root") as HTMLElement;
  Element.prototype.scrollIntoView = () => undefined;
  known = UNKNOWN;
  said = [];
  await check(
    { type: "server", server: { is: "running" } },
    { type: "snapshot", snapshot: snapshot([]) },
  );
});

async function draw(): Promise<void> {
  const keep = (change: (now: Drafts) => Drafts) => {
    known = { ...known, drafts: change(known.drafts) };
  };
  await act(() => render(<App known={known} post={(one) => said.push(one)} keep={keep} />, root));
}

async function check(...messages: ToPanel[]): Promise<void> {
  for (const one of messages) {
    known = learn(known, one);
    await draw();
  }
}

const field = () => root.querySelector(".composer .box textarea") as HTMLTextAreaElement;
const names = (selector: string) =>
  [...root.querySelectorAll(`${selector} .name`)].map((one) => one.textContent);
const prompts = () => said.filter((one) => one.type === "prompt");

async function type(text: string): Promise<void> {
  await act(() => {
    field().value = text;
    field().setSelectionRange(text.length, text.length);
    field().dispatchEvent(new Event("input", { bubbles: true }));
  });
  await draw();
}

async function press(key: string, more: KeyboardEventInit = {}): Promise<KeyboardEvent> {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  await act(() => void field().dispatchEvent(event));
  await draw();
  return event;
}

async function click(label: string): Promise<void> {
  const button = [...root.querySelectorAll("button")].find(
    (one) => (one.getAttribute("aria-label") ?? one.textContent).trim() === label,
  );
  if (!button) throw new Error(`no button ${label}`);
  await act(() => button.click());
  await draw();
}

async function completed(rows: CompletionRow[], word: string, isIncomplete = false): Promise<void> {
  const asked = said.findLast((one) => one.type === "complete");
  if (asked?.type !== "complete") throw new Error("nothing was asked");
  await check({ type: "completed", id: asked.id, result: { word, rows, isIncomplete } });
}

test("the selection goes along, else the file, and the user can switch it off and on", async () => {
  expect(names(".chips")).toEqual(["add"]);
  await check({ type: "here", here: HERE });
  expect(names(".chip.here")).toEqual(["prices.py:13-15"]);
  await click("Remove prices.py:13-15");
  expect(names(".chip.here")).toEqual(["prices.py"]);
  await click("Remove prices.py");
  expect([names(".chip.here"), names(".chip.off")]).toEqual([[], ["prices.py"]]);
  await type("Fix it");
  await press("Enter");
  expect(prompts().at(-1)).toMatchObject({ text: "Fix it", here: "none" });
  await click("prices.pyis not sent: send it");
  await check({ type: "here", here: { ...HERE, selection: null } });
  expect(names(".chip.here")).toEqual(["prices.py"]);
  await type("Fix it");
  await press("Enter");
  expect(prompts().at(-1)).toMatchObject({ here: "file" });
});

test("what was attached goes with one prompt, once, and can be removed", async () => {
  await check({ type: "attached", chips: [FILE, FILE], problem: "" });
  await check({ type: "attached", chips: [FILE], problem: "x.bin is no text." });
  expect(names(".chips li.chip")).toEqual(["cart.py"]);
  expect(root.querySelector(".composer [role=alert]")?.textContent).toContain("x.bin is no text.");
  await click("Remove cart.py");
  expect(names(".chips li.chip")).toEqual([]);
  await check({ type: "attached", chips: [FILE], problem: "" });
  expect(root.querySelector(".composer [role=alert]")).toBeNull();
  await type("Look");
  await press("Enter");
  expect(prompts()).toMatchObject([{ text: "Look", chips: [FILE] }]);
  expect(names(".chips li.chip")).toEqual([]);
});

test("backspace in an empty prompt takes one thing away, and a held key takes none", async () => {
  await check({ type: "here", here: HERE }, { type: "attached", chips: [FILE], problem: "" });
  await type("ab");
  await press("Backspace");
  expect(names(".chips li.chip")).toEqual(["prices.py:13-15", "cart.py"]);
  await type("");
  await press("Backspace", { repeat: true });
  expect(names(".chips li.chip")).toHaveLength(2);
  await press("Backspace");
  expect(names(".chips li.chip")).toEqual(["prices.py:13-15"]);
  await press("Backspace");
  await press("Backspace");
  expect(names(".chips li.chip")).toEqual([]);
});

test("a prompt that was not taken keeps what went with it", async () => {
  await check({ type: "unsent", sessionId: null, text: "Look", problem: "no", chips: [FILE] });
  await click("Send prompt 1");
  expect(prompts()).toMatchObject([{ text: "Look", chips: [FILE] }]);
});

test("files are completed by the keyboard alone", async () => {
  await type("Look at @pri");
  expect(said.filter((one) => one.type === "complete")).toMatchObject([{ text: "Look at @pri" }]);
  expect(field().getAttribute("role")).toBeNull();
  await completed(ROWS, "@pri");
  const options = [...root.querySelectorAll("[role=listbox] [role=option]")];
  expect(options.map((one) => one.querySelector(".name")?.textContent)).toEqual([
    "prices.py",
    "shop/",
  ]);
  expect(options[0]?.querySelector(".detail")?.textContent).toBe("shop");
  expect(field().getAttribute("aria-expanded")).toBe("true");
  expect(field().getAttribute("aria-controls")).toBe(root.querySelector("[role=listbox]")?.id);
  expect(field().getAttribute("aria-activedescendant")).toBe(options[0]?.id);
  await press("ArrowDown");
  expect(field().getAttribute("aria-activedescendant")).toBe(options[1]?.id);
  await press("ArrowDown");
  const enter = await press("Enter");
  expect(enter.defaultPrevented).toBe(true);
  expect(field().value).toBe("Look at @shop/prices.py ");
  expect(names(".chips li.chip")).toEqual(["prices.py"]);
  expect(root.querySelector("[role=listbox]")).toBeNull();
  expect(prompts()).toEqual([]);
  await press("Enter");
  expect(prompts()).toMatchObject([
    { text: "Look at @shop/prices.py", chips: [{ name: "prices.py" }] },
  ]);
});

test("a row that is taken late replaces what has been typed since, and nothing elsewhere", async () => {
  await type("Look at @pri");
  await completed(ROWS, "@pri");
  await type("Look at @pric");
  await press("Enter");
  expect(field().value).toBe("Look at @shop/prices.py ");
  await type("@pri");
  await completed(ROWS, "@pri");
  field().setSelectionRange(1, 1);
  await press("Enter");
  expect(field().value).toBe("@pri");
});

test("escape closes the list and leaves turn and words alone; tab takes a row", async () => {
  await type("@pri");
  await completed(ROWS, "@pri");
  expect((await press("Escape")).defaultPrevented).toBe(true);
  expect(root.querySelector("[role=listbox]")).toBeNull();
  expect([field().value, said.filter((one) => one.type === "stop")]).toEqual(["@pri", []]);
  await type("@pric");
  await completed(ROWS, "@pric");
  await press("Tab");
  expect(field().value).toBe("@shop/prices.py ");
});

test("only the answer to what stands there counts, and words ask for nothing", async () => {
  await type("@p");
  const first = said.findLast((one) => one.type === "complete");
  await type("@pr");
  const stale = { word: "@p", rows: ROWS, isIncomplete: false };
  await check({ type: "completed", id: first?.type === "complete" ? first.id : 0, result: stale });
  expect(root.querySelector("[role=listbox]")).toBeNull();
  const asked = said.length;
  for (const text of ["plain", "a@b", "1/2", "# Heading", "mail me @ noon "]) await type(text);
  expect(said.length).toBe(asked);
  await type("#tot");
  await type("done");
  await completed(ROWS, "#tot");
  expect(root.querySelector("[role=listbox]")).toBeNull();
});

test("while files are read the list says so, and enter sends", async () => {
  await type("@x");
  await completed([], "@x", true);
  expect(root.querySelector(".completion")?.textContent).toContain("Files are being read");
  await press("Enter");
  expect(prompts()).toMatchObject([{ text: "@x" }]);
});

function transfer(types: Record<string, string>, files: File[] = []): DataTransfer {
  return {
    types: [...Object.keys(types), ...(files.length ? ["Files"] : [])],
    files,
    getData: (kind: string) => types[kind] ?? "",
  } as unknown as DataTransfer;
}

const png = new File(["png"], "image.png", { type: "image/png" });

test("a pasted picture becomes a chip, and text stays text", async () => {
  const kept = () => said.filter((one) => one.type === "image");
  const paste = async (data: DataTransfer, images = kept().length + 1) => {
    const event = Object.assign(new Event("paste", { bubbles: true, cancelable: true }), {
      clipboardData: data,
    });
    await act(async () => {
      field().dispatchEvent(event);
      await vi.waitFor(() => expect(kept()).toHaveLength(images), 30_000);
    });
    await draw();
    return event.defaultPrevented;
  };
  expect(await paste(transfer({ "text/plain": "words" }, [png]), 0)).toBe(false);
  expect(await paste(transfer({}, [png]))).toBe(true);
  expect(await paste(transfer({}, [png]))).toBe(true);
  expect(names(".chips li.chip")).toEqual(["image.png", "image-2.png"]);
  expect(kept()).toHaveLength(2);
  expect(kept().every((one) => one.data.startsWith("data:image/png;base64,"))).toBe(true);
  await type("What is this?");
  await press("Enter");
  const [sent] = prompts();
  expect(sent).toMatchObject({ chips: [{ part: { type: "image" } }, {}] });
  expect(JSON.stringify(sent)).not.toContain("base64");
});

test("a drop from the explorer is told by its names, also several and of other systems", () => {
  const list = "file:///w/a.py\r\nvscode-remote://ssh/w/b.py\r\n";
  const listed = { "application/vnd.code.uri-list": list, "text/uri-list": "file:///w/a.py" };
  expect(dropped(transfer(listed)).uris).toEqual(["file:///w/a.py", "vscode-remote://ssh/w/b.py"]);
  expect(dropped(transfer({ "text/uri-list": "# no\nfile:///w/a.py" })).uris).toEqual([
    "file:///w/a.py",
  ]);
  const text = new File(["x"], "notes.txt", { type: "text/plain" });
  const found = dropped(transfer({}, [png, text]));
  expect(found.images).toEqual([png]);
  expect(found.problem).toContain("notes.txt comes without its place");
  expect(found.problem).toContain("hold Shift");
  const large = new File(["x"], "big.png", { type: "image/png" });
  Object.defineProperty(large, "size", { value: 20_000_001 });
  expect(pasted(transfer({}, [large])).problem).toBe("big.png is larger than 20 MB.");
  const drawing = new File(["<svg/>"], "a.svg", { type: "image/svg+xml" });
  expect(dropped(transfer({}, [drawing])).images).toEqual([]);
});

test("pictures go to the server with their bytes, and lost ones are said", () => {
  const images = new Images();
  const chip: Chip = {
    kind: "image",
    name: "a.png",
    title: "",
    part: { type: "image", name: "a.png" },
    imageId: "1",
  };
  expect(() => images.parts([chip])).toThrow("Paste it again");
  images.keep("1", "data:image/png;base64,AAAA");
  expect(images.parts([FILE, chip])).toEqual([
    FILE.part,
    { type: "image", data: "data:image/png;base64,AAAA", name: "a.png" },
  ]);
  const sent = new SentChips();
  sent.add("Look", [chip]);
  sent.add("Plain", []);
  expect(sent.of("Look [image a.png 8x6]")).toEqual([chip]);
  expect(sent.of("Plain")).toEqual([]);
  expect(sent.of("Look here")).toEqual([]);
  sent.add("Look", []);
  expect(sent.of("Look")).toEqual([]);
  expect(withChips([FILE], [FILE, chip])).toEqual([FILE, chip]);
});

const spoken = (text: string, more: object = {}): Update => ({
  sessionUpdate: "user_message_chunk",
  content: { type: "text", text },
  images: null,
  attachments: null,
  origin: "user",
  ...more,
});
const picture = { name: "shot.png", mimeType: "image/png", width: 8, height: 6, sizeBytes: 9 };
const attached = {
  kind: "range",
  name: "prices.py:13-15",
  location: { path: "shop/prices.py", uri: "file:///w/shop/prices.py", line: 12 },
  lastLine: 14,
  note: "",
};

async function talked(): Promise<void> {
  const updates = [
    spoken("One"),
    spoken("Two\nlines [image shot.png 8x6]", { images: [picture], attachments: [attached] }),
    spoken("Two\nlines"),
    spoken("Told by a policy", { origin: "budget" }),
  ];
  const sessionId = known.session.sessionId;
  await check({ type: "snapshot", snapshot: snapshot([{ sessionId, seq: 1, updates }]) });
}

test("a prompt shows what went with it, and a click opens the place", async () => {
  await talked();
  expect(names(".user .chips.sent")).toEqual(["prices.py:13-15", "shot.png"]);
  expect(root.querySelectorAll(".user .said")[1]?.textContent).toBe("Two\nlines");
  await act(() => root.querySelector<HTMLElement>(".user .chips.sent button")?.click());
  expect(said.at(-1)).toEqual({ type: "open", uri: "file:///w/shop/prices.py", line: 12 });
});

test("up and down in an empty prompt walk through the earlier ones", async () => {
  await talked();
  expect(earlier(known.session)).toEqual(["Two\nlines", "One"]);
  await press("ArrowUp");
  expect(field().value).toBe("Two\nlines");
  // The cursor is on the second line, where up moves it.
  await press("ArrowUp");
  expect(field().value).toBe("Two\nlines");
  field().setSelectionRange(0, 0);
  await press("ArrowUp");
  expect(field().value).toBe("One");
  await press("ArrowUp");
  expect(field().value).toBe("One");
  await press("ArrowDown");
  await press("ArrowDown");
  expect(field().value).toBe("");
  await type("mine");
  await press("ArrowUp");
  expect(field().value).toBe("mine");
});
