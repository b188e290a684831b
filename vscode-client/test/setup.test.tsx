// @vitest-environment happy-dom
// The set-up page shows what is missing and nothing else, and asks for what each button says.
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { check, root, said } from "./drawn";
import { snapshot, story } from "./golden";
import { SETUPS } from "./setups.mjs";

const state = (name: string) => SETUPS[name] ?? [];
const text = (selector: string) => root.querySelector(selector)?.textContent ?? "";
const steps = () => [...root.querySelectorAll(".setting")].map((one) => one.className);
const buttons = () => [...root.querySelectorAll<HTMLButtonElement>(".setup button")];
const placeholder = () => root.querySelector("textarea")?.placeholder;

async function click(name: string): Promise<void> {
  const button = buttons().find((one) => one.textContent.trim() === name);
  if (!button)
    throw new Error(
      `no ${name} in ${buttons()
        .map((one) => one.textContent)
        .join()}`,
    );
  await act(() => button.click());
}

const DONE = "setting done";
const NOW = "setting current";
const LATER = "setting later";

test.each([
  ["no server", [NOW, LATER, LATER, LATER], "Install the server first"],
  ["a wrong setting", [NOW, LATER, LATER, LATER], "Correct the setting first"],
  ["installing", [NOW, LATER, LATER, LATER], "Install the server first"],
  ["not installed", [NOW, LATER, LATER, LATER], "Install the server first"],
  ["no model", [DONE, NOW, LATER, LATER], "Choose a model first"],
  ["no key", [DONE, DONE, NOW, LATER], "Give the key first"],
  ["a bad key", [DONE, DONE, NOW, LATER], "Give the key first"],
  ["an account", [DONE, DONE, NOW, LATER], "Sign in first"],
  ["trust", [DONE, DONE, DONE, NOW], "Ask, or say what to change"],
])("%s: one step is next, and nothing else is on the screen", async (name, wanted, words) => {
  await check(...state(name));
  expect(steps()).toEqual(wanted);
  expect(root.querySelectorAll('[aria-current="step"]')).toHaveLength(1);
  expect(placeholder()).toBe(words);
  expect(root.querySelectorAll(".banner, .welcome, .transcript, .card")).toHaveLength(0);
});

test("a step with a problem has the mark of one", async () => {
  for (const [name, isWrong] of [
    ["a wrong setting", true],
    ["not installed", true],
    ["a bad key", true],
    ["no server", false],
    ["no key", false],
  ] as const) {
    await check(...state(name));
    expect(root.querySelector(".setting.current > .icon.failed") !== null).toBe(isWrong);
  }
});

test("when all is there the page is gone", async () => {
  await check(...state("all done"), { type: "snapshot", snapshot: snapshot([]) });
  expect(root.querySelector(".setup")).toBeNull();
  expect(text("h1")).toBe("What shall we change?");
});

test("a user who has all never sees it", async () => {
  const [server, , config, setup] = state("all done");
  for (const one of [server, config, setup]) {
    if (one) await check(one);
    expect(root.querySelector(".setup")).toBeNull();
  }
});

test("a conversation is not covered", async () => {
  const params = story("fix_prices");
  await check(
    { type: "snapshot", snapshot: snapshot(params.slice(0, 1)) },
    ...params.slice(1).map((one) => ({ type: "updates", params: one }) as const),
    ...state("no key"),
  );
  expect(root.querySelector(".setup")).toBeNull();
  expect(text(".user")).toContain("Prices are off by a cent");
});

test("the page stays while a server starts with the new key", async () => {
  await check(...state("no key"), { type: "server", server: { is: "starting" } });
  expect(text(".setup")).toContain("starts");
  await check(...state("all done"), { type: "snapshot", snapshot: snapshot([]) });
  expect(root.querySelector(".setup")).toBeNull();
});

test("the server is installed, or an interpreter picked", async () => {
  await check(...state("no server"));
  await click("Install");
  await click("Pick an interpreter…");
  expect(said).toEqual([
    { type: "run", command: "installServer" },
    { type: "run", command: "pickInterpreter" },
  ]);
});

test("an installation shows what it says, without what only a terminal understands", async () => {
  await check(...state("installing"));
  expect(text("pre.install")).toContain("Collecting agent-ls");
  await check({
    type: "setup",
    setup: {
      install: { is: "running", lines: ["\u001b[31mred\u001b[0m \u202eabc"] },
      access: null,
      isLooked: false,
      offers: null,
      problems: {},
    },
  });
  expect(text("pre.install")).toBe("red \\u{202e}abc");
  await click("Cancel");
  expect(said).toEqual([{ type: "setup", action: { do: "cancelInstall" } }]);
});

test("one that failed says why and what to do, with its output at hand", async () => {
  await check(...state("not installed"));
  expect(text('[role="alert"]')).toContain("sudo apt install python3.11-venv");
  expect(root.querySelector("pre")).toBeNull();
  await click("Output");
  expect(text("pre.install")).toContain("Collecting agent-ls");
  await click("Try again");
  expect(said).toEqual([{ type: "run", command: "installServer" }]);
});

test("a wrong setting offers no installation, which would not help", async () => {
  await check(...state("a wrong setting"));
  expect(buttons().map((one) => one.textContent)).toEqual(["Settings", "Pick an interpreter…"]);
  expect(text('[role="alert"]')).toContain("agent-ls.python names /nowhere/python");
});

test("a mistake in the settings stands where the model is missing", async () => {
  const [server, config, setup] = state("no model");
  if (config?.type !== "config" || !server || !setup) throw new Error("other messages");
  const problems = ["config.toml: unknown key modle"];
  await check(server, { ...config, config: { ...config.config, problems } }, setup);
  expect(text('.setting.current [role="alert"]')).toBe(problems[0]);
});

test("the model is shown with its window and its prices", async () => {
  await check(...state("no key"));
  await click("claude-haiku-4-5 · 200k · $1/$5");
  expect(said).toEqual([{ type: "run", command: "pickModel" }]);
});

test("a key is a password, goes to the extension once, and is gone from the page", async () => {
  await check(...state("no key"));
  const field = root.querySelector<HTMLInputElement>("input");
  if (!field) throw new Error("no field");
  expect(field.type).toBe("password");
  await act(() => {
    field.value = "sk-hush";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await act(() => {
    root
      .querySelector("form")
      ?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  });
  expect(said).toEqual([
    { type: "setup", action: { do: "storeKey", variable: "ANTHROPIC_API_KEY", key: "sk-hush" } },
  ]);
  expect(field.value).toBe("");
  expect(root.innerHTML).not.toContain("sk-hush");
});

test("an account has a sign-in instead of a key", async () => {
  await check(...state("an account"));
  expect(root.querySelector("input")).toBeNull();
  await click("Sign in…");
  expect(said).toEqual([{ type: "run", command: "signIn" }]);
});

test("trust says what it switches on, and may be left for later", async () => {
  await check(...state("trust"), { type: "snapshot", snapshot: snapshot([]) });
  expect(text(".setting:last-child")).toContain("MCP server docs: npx docs-server");
  expect(text(".setting:last-child")).toContain("Trust the folder “shop”?");
  await click("Trust this folder");
  expect(said).toEqual([{ type: "setup", action: { do: "trust" } }]);
  await click("Not now");
  expect(root.querySelector(".setup")).toBeNull();
});

test("versions that do not fit are one sentence with what to do", async () => {
  const words = "Extension 0.5.0 and server 0.4.0 do not fit: update the server.";
  const [, , config, setup] = state("all done");
  await check(
    {
      type: "server",
      server: { is: "running", version: "0.4.0", misfit: { words, canUpdate: true } },
    },
    ...[config, setup].filter((one) => one !== undefined),
  );
  expect(text(".banner p").trim()).toBe(words);
  await act(() => root.querySelector<HTMLButtonElement>(".banner button")?.click());
  expect(said).toEqual([{ type: "run", command: "installServer" }]);
});
