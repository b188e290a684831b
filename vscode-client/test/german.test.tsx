// @vitest-environment happy-dom
// Where VS Code speaks German the panel does so too, from the table that its page was handed.
import { GERMAN } from "./german";
import { expect, test } from "vitest";
import { language, plural, t } from "../src/l10n";
import { all, button, check, click, root, running, texts, told } from "./drawn";
import { snapshot, story, until } from "./golden";
import { SETUPS } from "./setups.mjs";

const title = (selector: string) => root.querySelector(selector)?.getAttribute("title");

test("the page hands over every text as it is in the bundle, and the language", () => {
  expect(language()).toBe("de");
  for (const [english, german] of Object.entries(GERMAN)) expect(t(english)).toBe(german);
});

test("what the bundle lacks stays English, and what is put in is taken as it is", () => {
  expect(t("Nobody has translated {0}", "this")).toBe("Nobody has translated this");
  expect(t("Reject: {0}", "{0} and {1}")).toBe("Ablehnen: {0} and {1}");
  expect(t("Key for {0}")).toBe("Schlüssel für {0}");
});

test("one thing and many have their own sentence", () => {
  const steps = (many: number) => plural(many, "{0} step", "{0} steps");
  expect([0, 1, 2].map(steps)).toEqual(["0 Schritte", "1 Schritt", "2 Schritte"]);
});

test("an empty session", async () => {
  await check(running, { type: "snapshot", snapshot: snapshot([]) });
  expect(texts("h1")).toEqual(["Was ist zu ändern?"]);
  expect(texts(".welcome li")[1]).toBe(
    "In irgendeiner Datei einen Kommentar wie # agent: add type hints schreiben und dessen Glühbirne benutzen.",
  );
  expect(root.querySelector("textarea")?.placeholder).toBe("Fragen, oder was zu ändern ist");
  expect(texts(".send .sr")).toEqual(["Senden"]);
});

test("an approval: what the buttons do, in the user's words; what is asked, in the server's", async () => {
  await check(...told(until("fix_prices", "permission_request")));
  expect(button("Einmal erlauben").className).toBe("primary");
  expect(button("Ablehnen").type).toBe("submit");
  expect(root.querySelector<HTMLInputElement>(".rejection input")?.placeholder).toBe(
    "Warum nicht?",
  );
  expect(title(".approval .tool")).toBe("Vor dem Ausführen ändern");
  const payload = root.querySelector(".approval .payload");
  expect(payload?.getAttribute("aria-label")).toBe("Genau das würde geschehen");
  await click("Erlauben…");
  expect(all(".choices button").length).toBeGreaterThan(0);
});

test("a turn that is over", async () => {
  await check(...told(story("fix_prices")));
  expect(texts(".call .verb").slice(0, 4)).toEqual([
    "Lesen: 2 Dateien, 1 Suche",
    "Bearbeiten",
    "Bearbeiten",
    "Ausführen",
  ]);
  expect(texts(".end .verb")).toEqual(["Fertig"]);
  expect(texts(".end .facts")[0]).toMatch(/^\d+ Schritte/);
});

test("the set-up", async () => {
  await check(...(SETUPS["no server"] ?? []));
  expect(texts(".setup h1")).toEqual(["Einrichten 4 Schritte, 1 min"]);
  expect(texts(".setup h2")).toEqual(["Server", "Modell", "Schlüssel", "Vertrauen"]);
  expect(texts(".setup button")).toEqual(["Installieren", "Interpreter wählen…"]);
});
