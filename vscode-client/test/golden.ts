// The golden updates: what the server makes of the journals in `told`, recorded by `make generate`.
// A Python test says when they are stale.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { follow } from "../src/fold/reduce";
import { EMPTY, type Item, type State } from "../src/fold/state";
import type { SnapshotResult, Update, UpdateParams } from "../src/wire";

export const STORIES = ["fix_prices", "stopped_and_failed", "refused_and_delegated"] as const;
export type Story = (typeof STORIES)[number];

export function story(name: Story): UpdateParams[] {
  const text = readFileSync(join(import.meta.dirname, "golden", `${name}.json`), "utf8");
  return JSON.parse(text) as UpdateParams[];
}

/** The story up to and with its n-th update of a kind. */
export function until(name: Story, kind: Update["sessionUpdate"], nth = 1): UpdateParams[] {
  const params = story(name);
  let seen = 0;
  const at = params.findIndex((one) =>
    one.updates.some((update) => {
      if (update.sessionUpdate === kind) seen += 1;
      return seen === nth;
    }),
  );
  if (at < 0) throw new Error(`${name} has no ${nth} updates of the kind ${kind}`);
  return params.slice(0, at + 1);
}

/** A session that nothing is known of yet. */
export function begun(sessionId: string): State {
  return { ...EMPTY, sessionId };
}

export function folded(params: readonly UpdateParams[]): State {
  return params.reduce(follow, begun(params[0]?.sessionId ?? ""));
}

const PASSING = [
  "agent_message_chunk",
  "agent_thought_chunk",
  "agent_chunks_discarded",
  "tool_call_output",
];

/** The snapshot a server gives at the end of these notifications. */
export function snapshot(params: readonly UpdateParams[]): SnapshotResult {
  const updates = params
    .flatMap((one) => one.updates)
    .filter((one) => !PASSING.includes(one.sessionUpdate));
  const last = <T>(pick: (one: Update) => T | null) =>
    updates.map(pick).findLast((one) => one !== null);
  return {
    session: {
      sessionId: params[0]?.sessionId ?? "",
      title: "",
      mode:
        last((one) =>
          one.sessionUpdate === "current_mode_update"
            ? one.currentModeId
            : one.sessionUpdate === "session_created"
              ? one.mode
              : null,
        ) ?? "ask",
      model:
        last((one) =>
          one.sessionUpdate === "current_model_update" || one.sessionUpdate === "session_created"
            ? one.model
            : null,
        ) ?? "",
      status: null,
      turns: 1,
      isInterrupted: false,
    },
    seq: params.at(-1)?.seq ?? 0,
    updates,
    partial: null,
  };
}

type Of<K extends Item["kind"]> = Extract<Item, { kind: K }>;

export function itemsOf<K extends Item["kind"]>(state: State, kind: K): Of<K>[] {
  return state.items.filter((one): one is Of<K> => one.kind === kind);
}
