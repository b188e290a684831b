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

export function Approval({ request, more, failure }: Props) {
  const post = usePost();
  const [isSent, setSent] = useState(false);
  /** The arguments while a person changes them. */
  const [draft, setDraft] = useState<string | null>(null);
  useEffect(() => setSent(false), [failure]);
  const answer = (choice: ApprovalChoice, more: Partial<Words> = {}) => {
    setSent(true);
    const words: Words = { note: "", argumentsJson: null, ...more };
    post({ type: "approve", approvalId: request.approvalId, choice, ...words });
  };
  const parts: AnswerProps = { request, isSent, answer };
  return (
    <section class="card approval" aria-label={`Approval needed: ${request.title}`}>
      <header>
        <Icon name={KIND_ICONS[request.kind]} />
        <h2>{request.title}</h2>
        {more > 0 && <span class="badge">{more} more</span>}
        {canAmend(request) && (
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
      {draft === null && (
        <Payload text={request.payload} kind={request.kind} label="Exactly what would happen" />
      )}
      {draft !== null && <Amend {...parts} draft={draft} onInput={setDraft} />}
      {failure && (
        <p class="problem" role="alert">
          {failure.problem}
        </p>
      )}
      {draft === null && <Allowing {...parts} />}
      {draft === null && <Rejecting {...parts} />}
    </section>
  );
}

interface Words {
  note: string;
  argumentsJson: string | null;
}

interface AnswerProps {
  request: PermissionRequested;
  isSent: boolean;
  answer: (choice: ApprovalChoice, more?: Partial<Words>) => void;
}

function canAmend({ options, rawInput }: PermissionRequested): boolean {
  return rawInput !== null && options.some((one) => one.optionId === "amend");
}

function Allowing({ request, isSent, answer }: AnswerProps) {
  const allowing = request.options.filter((one) => one.optionId.startsWith("allow_"));
  return (
    <div class="buttons">
      {allowing.map((option, index) => (
        <button
          key={option.optionId}
          type="button"
          class={index === 0 ? "primary" : "secondary"}
          disabled={isSent}
          onClick={(event) => {
            // The second click of a double click was meant for what stood there before.
            if (event.detail < 2) answer(option.optionId);
          }}
        >
          {option.name}
        </button>
      ))}
    </div>
  );
}

function Rejecting({ request, isSent, answer }: AnswerProps) {
  const [note, setNote] = useState("");
  const reject = request.options.find((one) => one.optionId === "reject_once");
  if (!reject) return null;
  return (
    <form
      class="rejection"
      onSubmit={(event) => {
        event.preventDefault();
        answer("reject_once", { note: note.trim() });
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
  );
}

interface AmendProps extends AnswerProps {
  draft: string;
  onInput: (text: string) => void;
}

function Amend({ draft, onInput, isSent, answer }: AmendProps) {
  return (
    <>
      <textarea
        class="amend"
        rows={Math.min(12, draft.split("\n").length + 1)}
        spellcheck={false}
        aria-label="The call's arguments as JSON"
        aria-invalid={!isJson(draft)}
        value={draft}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={isSent || !isJson(draft)}
          onClick={() => answer("amend", { argumentsJson: draft })}
        >
          Run with these
        </button>
      </div>
    </>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
