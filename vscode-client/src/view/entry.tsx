// One row of a transcript by its kind; also the transcripts of sub-agents, which stand inside one.
import { memo } from "preact/compat";
import { useContext, useEffect } from "preact/hooks";
import { createContext } from "preact";
import type { CallItem, Item, UserItem } from "../fold/state";
import { t } from "../l10n";
import type { SubAgentUpdate } from "../wire";
import { Answer } from "./answer";
import { Call, Details, Facts } from "./call";
import { SentChips, withoutMentions } from "./chips";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { firstLine } from "./format";
import { Icon, type IconName } from "./icons";
import { Asked, Compacted, Findings, Gate, Notice, Nudge, Resumed } from "./notes";
import { End } from "./outcome";
import { NOWHERE, RestoreAnswer, RestoreButton, RestoreContext, useRestoring } from "./restore";
import { RewindButtons, RewindCard, useRewinding } from "./rewind";
import { type GroupRow, groupWords, nameOf, type Row, rowsOf } from "./rows";
import type { Transcripts } from "./store";

/** A row; `isLast` when nothing follows, so that what it offers still makes sense. */
export function Entry({ row, isLast }: { row: Row; isLast: boolean }) {
  return row.kind === "group" ? (
    <Group row={row} />
  ) : (
    <One item={row.item} isLast={row.item.kind === "end" && isLast} />
  );
}

const One = memo(({ item, isLast }: { item: Item; isLast: boolean }) => {
  switch (item.kind) {
    case "user":
      return <User item={item} />;
    case "answer":
      return <Answer item={item} />;
    case "call":
      return item.agent ? <SubAgent item={item} agent={item.agent} /> : <Call item={item} />;
    case "nudge":
      return <Nudge item={item} />;
    case "gate":
      return <Gate item={item} />;
    case "notice":
      return <Notice item={item} />;
    case "findings":
      return <Findings item={item} />;
    case "asked":
      return <Asked item={item} />;
    case "compacted":
      return <Compacted item={item} />;
    case "resumed":
      return <Resumed item={item} />;
    case "end":
      return <End item={item} isLast={isLast} />;
  }
});

/** Calls that only looked at something: one line, and each call on demand. */
const Group = memo(
  ({ row: { name, calls } }: { row: GroupRow }) => {
    const isRunning = calls.some((one) => one.status === "in_progress");
    return (
      <div class="call group">
        <Disclosure
          name={`group of ${name}`}
          summary={
            <>
              <Icon name={isRunning ? "loading" : "search"} />
              <span class="verb">{groupWords(calls)}</span>
              {isRunning && <span class="sr">{t("running")}</span>}
            </>
          }
        >
          {() => calls.map((one) => <Call key={one.key} item={one} />)}
        </Disclosure>
      </div>
    );
  },
  (before, after) =>
    before.row.name === after.row.name &&
    before.row.calls.length === after.row.calls.length &&
    before.row.calls.every((one, index) => one === after.row.calls[index]),
);

function User({ item }: { item: UserItem }) {
  const post = usePost();
  const rewinding = useRewinding(item.turnId);
  const whole = useRestoring({ turnId: item.turnId ?? "", toolCallId: null });
  // One of the two is asked about at a time.
  const restoring = {
    ...whole,
    ask: () => {
      rewinding.close();
      whole.ask();
    },
  };
  const { ask } = rewinding;
  const exclusive: typeof rewinding = {
    ...rewinding,
    ask: (then) => {
      whole.close();
      ask(then);
    },
  };
  // A selection says more than the line of the cursor.
  const isSelected = item.attachments.some((one) => one.kind === "selection");
  const anchor = isSelected ? null : item.anchor;
  const uri = anchor?.uri;
  const text = withoutMentions(item.text, item.images);
  return (
    <div class={item.isSteer ? "user steer" : "user"}>
      <span class="sr">{t("You said:")}</span>
      <div class="with-tools">
        <div class="said">{text}</div>
        <RewindButtons rewinding={exclusive} of={text} />
        <RestoreButton restoring={restoring} of={t("the turn “{0}”", text)} />
      </div>
      <SentChips attachments={item.attachments} images={item.images} />
      {anchor && (
        <button
          type="button"
          class="place"
          disabled={!uri}
          onClick={() => uri && post({ type: "open", uri, line: anchor.line })}
        >
          {anchor.path}
          {anchor.line !== null && `:${anchor.line + 1}`}
        </button>
      )}
      <RewindCard rewinding={rewinding} />
      <RestoreAnswer restoring={restoring} isRestored={item.isRestored} />
    </div>
  );
}

/** What sub-agents did, as far as it was asked for. */
export const TranscriptsContext = createContext<Transcripts>({});

const AGENT_ICONS: Record<SubAgentUpdate["status"], [IconName, string]> = {
  in_progress: ["loading", ""],
  completed: ["pass", "good"],
  failed: ["error", "failed"],
};

/** A sub-agent by its kind and its task; it opens to what it did. */
function SubAgent({ item, agent }: { item: CallItem; agent: SubAgentUpdate }) {
  const [icon, look] = AGENT_ICONS[agent.status];
  return (
    <div class="call sub-agent">
      <Disclosure
        name={nameOf(item)}
        summary={(isOpen) => (
          <>
            <Icon name={icon} class={look} />
            <span class="verb">{t("Agent: {0}", agent.kind)}</span>
            <span class={isOpen ? "what whole" : "what"} title={agent.task}>
              “{isOpen ? agent.task : firstLine(agent.task)}”
            </span>
            <Facts item={item} steps={agent.steps} />
          </>
        )}
      >
        {() => <Work item={item} agent={agent} />}
      </Disclosure>
      {agent.reason && <div class="why">{firstLine(agent.reason)}</div>}
    </div>
  );
}

function Work({ item, agent: { agentSessionId, kind, status } }: WorkProps) {
  const post = usePost();
  const told = useContext(TranscriptsContext)[agentSessionId];
  useEffect(() => {
    // A sub-agent's updates do not come by themselves: its end is worth another look.
    post({ type: "transcript", sessionId: agentSessionId });
  }, [agentSessionId, status, item.output.length >> 12]);
  if (!told) return <p class="dim">{t("Loading what it did")}</p>;
  if (told.is === "failed") {
    return (
      <>
        <p class="problem">{told.problem}</p>
        <Details item={item} />
      </>
    );
  }
  return (
    <div class="work" role="region" tabIndex={0} aria-label={t("What the sub-agent {0} did", kind)}>
      <RestoreContext.Provider value={NOWHERE}>
        {rowsOf(told.items).map((row) => (
          <div key={row.name} class="entry">
            <Entry row={row} isLast={false} />
          </div>
        ))}
      </RestoreContext.Provider>
    </div>
  );
}

interface WorkProps {
  item: CallItem;
  agent: SubAgentUpdate;
}
