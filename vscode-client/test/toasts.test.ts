// What needs the user is told outside the panel only while they do not see it.
import { expect, test, vi } from "vitest";
import { window } from "vscode";
import type { Conversation } from "../src/conversation";
import { follow } from "../src/fold/reduce";
import type { State } from "../src/fold/state";
import { news, Toasts } from "../src/toasts";
import { EventEmitter } from "./editor";
import { begun, type Story, story } from "./golden";

/** What is new after each notification of a story. */
function told(name: Story): string[] {
  const found: string[] = [];
  let state = begun("ses_01");
  for (const params of story(name)) {
    const now = follow(state, params);
    const fresh = news(state, now);
    if (fresh) found.push(fresh);
    state = now;
  }
  return found;
}

test.each<[Story, RegExp[]]>([
  [
    "fix_prices",
    [/^The agent waits for you: Edit shop\/prices.py$/, /^The agent waits for you: Run: pytest/],
  ],
  ["stopped_and_failed", [/^The agent asks: The module/, /^The agent stopped: Cannot reach/]],
  [
    "refused_and_delegated",
    [
      /^The agent waits for you: Run: for one in/,
      /^The agent stopped: Ended with failing checks$/,
      /^The agent stopped: Key refused by openai$/,
      /^The agent stopped: Key refused by openai$/,
    ],
  ],
])("each thing in %s that needs the user is new once", (name, expected) => {
  const found = told(name);
  expect(found).toHaveLength(expected.length);
  for (const [index, one] of expected.entries()) expect(found[index]).toMatch(one);
});

test.each([
  [true, 0],
  [false, 4],
])("with the panel visible: %s, there are %i messages", (isVisible, count) => {
  const shown = vi.spyOn(window, "showWarningMessage");
  const changed = new EventEmitter<State>();
  let state = begun("ses_01");
  const conversation = { state, onChange: changed.event } as unknown as Conversation;
  const visible = { isVisible, onVisible: new EventEmitter<boolean>().event };
  const toasts = new Toasts(conversation, visible);
  for (const params of story("refused_and_delegated")) {
    state = follow(state, params);
    changed.fire(state);
  }
  expect(shown).toHaveBeenCalledTimes(count);
  toasts.dispose();
});
