// Asks a person whether one call may run, and shows exactly what would happen.
import { useEffect, useState } from "preact/hooks";
import type { ApprovalChoice, PermissionRequested } from "../wire";
import { usePost } from "./context";
import { Icon, KIND_ICONS } from "./icons";
import { Payload } from "./payload";
import type { Failure } from "./store";

interface Props {
  request: PermissionRequested;
  /** How many more wait behind this one. */
  more: number;
  failure: Failure | undefined;
}

const REJECTIONS: ReadonlySet<ApprovalChoice> = new Set(["reject_once", "reject_always"]);

export function Approval({ request, more, failure }: Props) {
  const post = usePost();
  const [note, setNote] = useState("");
  const [isSent, setSent] = useState(false);
  const [draft, setDraft] = useState<string | null>(null);
  useEffect(() => setSent(false), [failure]);
  const answer = (choice: ApprovalChoice) => {
    setSent(true);
    const { approvalId } = request;
    const argumentsJson = choice === "amend" ? draft : null;
    const words = REJECTIONS.has(choice) ? note.trim() : "";
    post({ type: "approve", approvalId, choice, note: words, argumentsJson });
  };
  const offered = (choice: ApprovalChoice) =>
    request.options.find((one) => one.optionId === choice && choice !== "cancelled");
  const allowing = request.options.filter((one) => one.optionId.startsWith("allow_"));
  const reject = offered("reject_once");
  const canAmend = offered("amend") !== undefined && request.rawInput !== null;
  return (
    <section class="card approval" aria-label={`Approval needed: ${request.title}`}>
      <header>
        <Icon name={KIND_ICONS[request.kind]} />
        <h2>{request.title}</h2>
        {more > 0 && <span class="badge">{more} more</span>}
        {canAmend && (
          <button
            type="button"
            class="tool"
            aria-pressed={draft !== null}
            title={draft === null ? "Change the arguments" : "Back to what was asked"}
            disabled={isSent}
            onClick={() =>
              setDraft(draft === null ? JSON.stringify(request.rawInput, null, 2) : null)
            }
          >
            <Icon name="edit" />
            <span class="sr">Change the arguments</span>
          </button>
        )}
      </header>
      {request.reason && <p class="reason">{request.reason}</p>}
      {draft === null ? (
        <Payload text={request.payload} label="Exactly what would happen" />
      ) : (
        <Amend draft={draft} onInput={setDraft} />
      )}
      {failure && (
        <p class="problem" role="alert">
          {failure.problem}
        </p>
      )}
      <div class="buttons">
        {draft === null ? (
          allowing.map((option, index) => (
            <button
              key={option.optionId}
              type="button"
              class={index === 0 ? "primary" : "secondary"}
              disabled={isSent}
              title={grantWords(option.optionId, request)}
              onClick={() => answer(option.optionId)}
            >
              {option.name}
            </button>
          ))
        ) : (
          <button
            type="button"
            class="primary"
            disabled={isSent || !isJson(draft)}
            onClick={() => answer("amend")}
          >
            Run with these
          </button>
        )}
      </div>
      {reject && draft === null && (
        <form
          class="rejection"
          onSubmit={(event) => {
            event.preventDefault();
            answer("reject_once");
          }}
        >
          <input
            type="text"
            value={note}
            aria-label="Why not, or what to do instead"
            placeholder="Why not, or what instead (optional)"
            onInput={(event) => setNote(event.currentTarget.value)}
          />
          <button type="submit" class="secondary" disabled={isSent}>
            {reject.name}
          </button>
        </form>
      )}
    </section>
  );
}

function grantWords(choice: ApprovalChoice, { grant }: PermissionRequested): string | undefined {
  return choice === "allow_session" && grant ? `Until the session ends: ${grant}` : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function Amend({ draft, onInput }: { draft: string; onInput: (text: string) => void }) {
  return (
    <textarea
      class="amend"
      rows={Math.min(12, draft.split("\n").length + 1)}
      spellcheck={false}
      aria-label="The call's arguments as JSON"
      aria-invalid={!isJson(draft)}
      value={draft}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}
