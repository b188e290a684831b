// Where the person writes: sends, steers, queues and stops, and shows what that will cost.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Queued, State } from "../fold/state";
import type { ConfigResult, UsageUpdate } from "../wire";
import { usePost } from "./context";
import { Field, type WhenBusy } from "./field";
import { count, modelName, modeName, money } from "./format";
import { Icon, MODE_ICONS } from "./icons";
import type { Known } from "./store";

/** A blank line, between prompts that come back and what is half-written. */
const BETWEEN = "\n\n";

interface Props {
  session: State;
  config: ConfigResult | null;
  unsent: Known["unsent"];
  compose: Known["compose"];
  /** What was typed before the panel was reloaded. */
  draft: string;
  /** Keeps what is typed over a reload. */
  onDraft: (text: string) => void;
}

export function Composer({ session, config, unsent, compose, draft: kept, onDraft }: Props) {
  const post = usePost();
  const box = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useState(kept);
  const write = (text: string) => {
    setDraft(text);
    setProblem("");
    onDraft(text);
  };
  const [problem, setProblem] = useState("");
  const isBusy = session.turn !== null;
  const putBefore = (text: string) => {
    const area = box.current;
    if (!area) return;
    // The field knows what was typed a moment ago; the cursor stays where the person writes.
    area.setRangeText(text, 0, 0, "preserve");
    write(area.value);
  };
  /** How many of the unsent prompts are back. */
  const taken = useRef(0);
  useEffect(() => {
    const fresh = unsent.slice(taken.current);
    const last = fresh.at(-1);
    if (!last) return;
    taken.current = unsent.length;
    const texts = fresh.map(({ text }) => text).join(BETWEEN);
    putBefore(box.current?.value.trim() ? texts + BETWEEN : texts);
    setProblem(last.problem);
  }, [unsent]);
  useEffect(() => {
    if (!compose.times) return;
    if (compose.text) putBefore(compose.text);
    box.current?.focus();
  }, [compose]);
  const send = (whenBusy: WhenBusy) => {
    // The field knows what was typed a moment ago, when it has not been drawn yet.
    const area = box.current;
    const text = area?.value.trim();
    if (!area || !text) return;
    area.value = "";
    write("");
    post({ type: "prompt", text, whenBusy });
  };
  return (
    <div class="composer">
      <Queue queue={session.queue} />
      {problem && (
        <p class="problem" role="alert">
          Not sent: {problem}
        </p>
      )}
      <div class="box">
        <Field
          box={box}
          draft={draft}
          isBusy={isBusy}
          onInput={write}
          onSend={send}
          onStop={() => post({ type: "stop" })}
        />
        <div class="bar">
          <Choices session={session} config={config} />
          <span class="space" />
          <Usage usage={session.usage} />
          {session.turn && <StopButton isStopping={session.turn.isStopping} />}
          {(!isBusy || draft.trim()) && (
            <button
              type="button"
              class="round send"
              title={isBusy ? "Steer (Enter)" : "Send (Enter)"}
              disabled={!draft.trim()}
              onClick={() => send("steer")}
            >
              <Icon name="arrowUp" />
              <span class="sr">{isBusy ? "Steer" : "Send"}</span>
            </button>
          )}
        </div>
      </div>
    </div>
  );
}

function StopButton({ isStopping }: { isStopping: boolean }) {
  const post = usePost();
  return (
    <button
      type="button"
      class="round stop"
      title="Stop (Escape in the prompt)"
      aria-label="Stop"
      disabled={isStopping}
      onClick={() => post({ type: "stop" })}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) post({ type: "stop" });
      }}
    >
      <span aria-hidden="true" />
    </button>
  );
}

/** What holds for the session: each opens the editor's own list of alternatives. */
function Choices({ session, config }: { session: State; config: ConfigResult | null }) {
  const post = usePost();
  const mode = config?.modes.find((one) => one.id === session.mode);
  const isRestricted = config?.roots.some((root) => !root.isTrusted);
  return (
    <>
      <button
        type="button"
        class="choice"
        title={mode?.description ?? "How much the agent may do without asking"}
        onClick={() => post({ type: "run", command: "pickMode" })}
      >
        <Icon name={MODE_ICONS[session.mode]} />
        <span class="sr">Mode: </span>
        <span class="name">{mode?.name ?? modeName(session.mode)}</span>
      </button>
      <button
        type="button"
        class="choice model"
        title={session.model || "No model is chosen"}
        onClick={() => post({ type: "run", command: "pickModel" })}
      >
        <span class="sr">Model: </span>
        <span class="name">{modelName(session.model)}</span>
      </button>
      {isRestricted && (
        <button
          type="button"
          class="choice"
          title="The agent runs nothing that this folder brings. Click to trust it."
          onClick={() => post({ type: "run", command: "trustFolders" })}
        >
          <Icon name="restricted" />
          <span class="sr">Not trusted</span>
        </button>
      )}
    </>
  );
}

function Queue({ queue }: { queue: readonly Queued[] }) {
  if (!queue.length) return null;
  return (
    <ul class="queue" aria-label="Waiting to be said">
      {queue.map(({ text, whenBusy }, index) => (
        <li key={index}>
          <span class="dim">{whenBusy === "steer" ? "with the next step" : "afterwards"}</span>
          <span class="what" title={text}>
            {text}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** How full the context is, and what the session has cost. */
export function Usage({ usage }: { usage: UsageUpdate | null }) {
  if (!usage) return null;
  const { used, size, cost, total } = usage;
  const share = size ? Math.min(1, used / size) : null;
  const of = size ? ` of ${count(size)}` : "";
  const details = [
    `Context: ${count(used)}${of} tokens`,
    `Session: ${count(total.inputTokens)} in (${count(total.cacheReadTokens)} from cache), ${count(total.outputTokens)} out`,
    `Cost: ${money(cost.amount) || "nothing, or unknown for this model"}`,
  ].join("\n");
  return (
    <span class="usage" title={details} role="img" aria-label={details}>
      {share === null ? <span>{count(used)}</span> : <Meter share={share} />}
      {money(cost.amount) && <span>{money(cost.amount)}</span>}
    </span>
  );
}

const RADIUS = 6;
const ROUND = 2 * Math.PI * RADIUS;

function Meter({ share }: { share: number }) {
  const level = share >= 0.9 ? "high" : share >= 0.75 ? "mid" : "low";
  return (
    <svg class={`meter ${level}`} viewBox="0 0 16 16" aria-hidden="true">
      <circle class="track" cx="8" cy="8" r={RADIUS} />
      <circle
        class="value"
        cx="8"
        cy="8"
        r={RADIUS}
        stroke-dasharray={`${share * ROUND} ${ROUND}`}
      />
    </svg>
  );
}
