// What the real server told the panel in the stories of tests/panel, and how far each state has come.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The messages and the states of a story. */
export function recorded(story) {
  const file = join(import.meta.dirname, "recorded", `${story}.json`);
  return JSON.parse(readFileSync(file, "utf8"));
}

/** The messages that a state has seen. */
export function toldUntil(story, state) {
  const { states, messages } = recorded(story);
  if (!(state in states)) throw new Error(`${story} has no state “${state}”`);
  return messages.slice(0, states[state]);
}
