// Asks the user whether one call may run, and shows exactly what would happen.
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../l10n";
import type { ApprovalChoice, PermissionRequested } from "../wire";
import { useKeptText, usePost } from "./context";
import { answerName } from "./drafts";
import { localized, visibleJson } from "./format";
import { Icon, KIND_ICONS } from "./icons";
import { AllowButton, End, Payload, ReadFirst, useReading } from "./payload";
import type { Failure } from "./store";

interface Props {
  request: PermissionRequested;
  sessionId: string;
  /** Another one is looked at. */
  isHidden: boolean;
  failure: Failure | undefined;
  /** How often its arguments were to be changed here, as it is no single text; 0: not at all. */
  amendHere: number;
  /** Called when the payload was seen to its end. */
  onRead: () => void;
}

export function Approval({ request, sessionId, isHidden, failure, amendHere, onRead }: Props) {
  const post = usePost();
  const [isSent, setSent] = useState(false);
  /** The arguments while the user changes them. */
  const [draft, setDraft] = useKeptText(answerName(sessionId, request.approvalId, "amend"));
  const [isAmending, setAmending] = useState(draft !== "");
  const reading = useReading();
  const isRead = reading.isRead(0);
  const reasonId = useId();
  useEffect(() => setSent(false), [failure]);
  useEffect(() => {
    if (isRead) onRead();
  }, [isRead]);
  useEffect(() => {
    if (!amendHere) return;
    if (!draft) setDraft(visibleJson(request.rawInput));
    setAmending(true);
  }, [amendHere]);
  const answer = (choice: ApprovalChoice, more: Partial<Words> = {}) => {
    setSent(true);
    const words: Words = { note: "", argumentsJson: null, ...more };
    post({ type: "approve", approvalId: request.approvalId, choice, ...words });
  };
  const parts: AnswerProps = { request, sessionId, isSent, answer };
  return (
    <section
      class="card approval"
      hidden={isHidden}
      aria-label={t("Approval needed: {0}", request.title)}
    >
      <header>
        <Icon name={KIND_ICONS[request.kind]} />
        <h2>{heading(request)}</h2>
        {canAmend(request) && (
          <button
            type="button"
            class="tool"
            aria-pressed={isAmending}
            title={isAmending ? t("Back to what was asked") : t("Change it before it runs")}
            disabled={isSent}
            onClick={() => {
              if (isAmending) setAmending(false);
              else post({ type: "amend", approvalId: request.approvalId });
            }}
          >
            <Icon name="edit" />
            <span class="sr">{t("Change it before it runs")}</span>
          </button>
        )}
      </header>
      {request.reason && <p class="reason">{request.reason}</p>}
      {!isAmending && (
        <Payload
          text={request.payload}
          kind={request.kind}
          label={t("Exactly what would happen")}
          onSeen={reading.onSeen(0)}
        />
      )}
      {isAmending && <Amend {...parts} draft={draft} onInput={setDraft} />}
      {failure && (
        <p class="problem" role="alert">
          {failure.problem}
        </p>
      )}
      {!isAmending && (
        <>
          <ReadFirst unread={isRead ? 0 : 1} id={reasonId} />
          <Allowing {...parts} unread={isRead ? null : reasonId} />
          <Rejecting {...parts} />
        </>
      )}
    </section>
  );
}

/** What is asked; a command stands below it in full. */
function heading({ tool, title }: PermissionRequested): string {
  return tool === "run_command" ? t("Run this command?") : title;
}

interface Words {
  note: string;
  argumentsJson: string | null;
}

interface AnswerProps {
  request: PermissionRequested;
  sessionId: string;
  isSent: boolean;
  answer: (choice: ApprovalChoice, more?: Partial<Words>) => void;
}

function canAmend({ options, rawInput }: PermissionRequested): boolean {
  return rawInput !== null && options.some((one) => one.optionId === "amend");
}

interface AllowingProps extends AnswerProps {
  /** The id of what says that it must be read first; null: it was. */
  unread: string | null;
}

function Allowing({ request, isSent, answer, unread }: AllowingProps) {
  const [isOpen, setOpen] = useState(false);
  const listId = useId();
  const allowing = request.options.filter((one) => one.optionId.startsWith("allow_"));
  const [once, ...broader] = allowing.map((option, index) => (
    <AllowButton
      key={option.optionId}
      class={index === 0 ? "primary" : "secondary"}
      unread={unread}
      disabled={isSent}
      onClick={() => answer(option.optionId)}
    >
      {localized(option.name)}
    </AllowButton>
  ));
  return (
    <>
      <div class="buttons">
        {once}
        {broader.length > 0 && (
          <button
            type="button"
            class="secondary more"
            title={t("Allow more than this one call")}
            aria-expanded={isOpen}
            aria-controls={isOpen ? listId : undefined}
            aria-disabled={unread !== null}
            aria-describedby={unread ?? undefined}
            onClick={() => unread === null && setOpen(!isOpen)}
          >
            {t("Allow…")}
            <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
          </button>
        )}
      </div>
      {isOpen && (
        <div class="buttons choices" id={listId} role="group" aria-label={t("Allow more")}>
          {broader}
        </div>
      )}
    </>
  );
}

function Rejecting({ request, sessionId, isSent, answer }: AnswerProps) {
  const [note, setNote] = useKeptText(answerName(sessionId, request.approvalId, "note"));
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
        aria-label={t("Why not, or what to do instead")}
        placeholder={t("Why not?")}
        onInput={(event) => setNote(event.currentTarget.value)}
      />
      <button type="submit" class="secondary" disabled={isSent}>
        {localized(reject.name)}
      </button>
    </form>
  );
}

interface AmendProps extends AnswerProps {
  draft: string;
  onInput: (text: string) => void;
}

/** The call's arguments to be changed; like a payload, they are read to their end before they run. */
function Amend({ draft, onInput, isSent, answer }: AmendProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const reading = useReading();
  const reasonId = useId();
  const isRead = reading.isRead(0);
  useLayoutEffect(() => {
    // The box around it scrolls, so that its end is where the text ends.
    if (!area.current) return;
    area.current.style.height = "auto";
    area.current.style.height = `${area.current.scrollHeight}px`;
  }, [draft]);
  return (
    <>
      <div class="payload amending" role="region" aria-label={t("The arguments to change")}>
        <textarea
          class="amend"
          ref={area}
          rows={draft.split("\n").length}
          spellcheck={false}
          aria-label={t("The call's arguments as JSON")}
          aria-invalid={!isJson(draft)}
          value={draft}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
        <End onSeen={reading.onSeen(0)} />
      </div>
      <ReadFirst unread={isRead ? 0 : 1} id={reasonId} />
      <div class="buttons">
        <AllowButton
          class="primary"
          unread={isRead ? null : reasonId}
          disabled={isSent || !isJson(draft)}
          onClick={() => answer("amend", { argumentsJson: draft })}
        >
          {t("Run with these")}
        </AllowButton>
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
