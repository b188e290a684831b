// What waits for the user: approvals and questions in one list, one of them shown at a time.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../l10n";
import { Approval } from "./approval";
import { usePost } from "./context";
import { Icon } from "./icons";
import { Question } from "./question";
import type { Known } from "./store";

export function Waiting({ known: { session, unsettled, attend, amendHere } }: { known: Known }) {
  const { sessionId, approvals, questions } = session;
  const post = usePost();
  const ids = [
    ...approvals.map((one) => one.approvalId),
    ...questions.map((one) => one.questionId),
  ];
  const [chosen, setChosen] = useState({ id: "", index: 0 });
  const index = place(ids, chosen);
  const id = ids[index] ?? null;
  const show = (wanted: number) => setChosen({ id: ids[wanted] ?? "", index: wanted });
  useEffect(() => {
    // What is looked at stays, whatever comes.
    if (id !== null && id !== chosen.id) show(index);
  }, [id]);
  const [read, setRead] = useState<ReadonlySet<string>>(new Set());
  const isRead = id !== null && read.has(id);
  useEffect(() => post({ type: "shown", id, isRead }), [id, isRead]);
  const list = useRef<HTMLElement>(null);
  const attended = useRef(0);
  useEffect(() => {
    const wanted = ids.indexOf(attend.id);
    if (attend.times === attended.current || wanted < 0) return;
    if (index !== wanted) {
      show(wanted);
      return;
    }
    attended.current = attend.times;
    const card = list.current?.querySelector(".card:not([hidden])");
    (card?.querySelector<HTMLElement>(".payload") ?? card?.querySelector("input"))?.focus();
  }, [attend, ids.join(), index]);
  if (id === null) return null;
  return (
    <section class="waiting" ref={list} aria-label={t("Needs you")}>
      {ids.length > 1 && (
        <div class="needs-you">
          <span>{t("Needs you {0}/{1}", index + 1, ids.length)}</span>
          <Turn
            to="chevronLeft"
            name={t("Look at the previous one")}
            isOff={index === 0}
            onClick={() => show(index - 1)}
          />
          <Turn
            to="chevronRight"
            name={t("Look at the next one")}
            isOff={index === ids.length - 1}
            onClick={() => show(index + 1)}
          />
        </div>
      )}
      {/* All stay, so that what was written or read is not lost by looking at another one. */}
      {approvals.map((one) => (
        <Approval
          key={one.approvalId}
          request={one}
          sessionId={sessionId}
          isHidden={one.approvalId !== id}
          failure={unsettled[one.approvalId]}
          amendHere={one.approvalId === amendHere.id ? amendHere.times : 0}
          onRead={() => setRead((before) => new Set([...before, one.approvalId]))}
        />
      ))}
      {questions.map((one) => (
        <Question
          key={one.questionId}
          asked={one}
          sessionId={sessionId}
          isHidden={one.questionId !== id}
          failure={unsettled[one.questionId]}
        />
      ))}
    </section>
  );
}

/** Where what was looked at stands; if it was settled, what came after it is in its place. */
function place(ids: readonly string[], { id, index }: { id: string; index: number }): number {
  const known = ids.indexOf(id);
  return known >= 0 ? known : Math.max(0, Math.min(index, ids.length - 1));
}

interface TurnProps {
  to: "chevronLeft" | "chevronRight";
  name: string;
  isOff: boolean;
  onClick: () => void;
}

function Turn({ to, name, isOff, onClick }: TurnProps) {
  return (
    <button
      type="button"
      class="tool"
      title={name}
      aria-label={name}
      aria-disabled={isOff}
      onClick={() => !isOff && onClick()}
    >
      <Icon name={to} />
    </button>
  );
}
