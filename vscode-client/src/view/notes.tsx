// The quiet lines of a transcript: what the machine did, said and found, and how a turn ended.
import type { ComponentChildren } from "preact";
import { words } from "../fold/reduce";
import type {
  AskedItem,
  ChangedFile,
  CompactedItem,
  EndItem,
  FindingsItem,
  GateItem,
  NoticeItem,
  NudgeItem,
  ResumedItem,
} from "../fold/state";
import type { FoundProblem, StopReason, TurnStatus } from "../wire";
import { Markdown } from "./answer";
import { Stat } from "./call";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { count, money, plural } from "./format";
import { Icon, type IconName } from "./icons";
import { Planned } from "./planned";

function Line({ icon, class: more = "", children }: LineProps) {
  return (
    <div class={`line note ${more}`}>
      <Icon name={icon} />
      <span class="words">{children}</span>
    </div>
  );
}

interface LineProps {
  icon: IconName;
  class?: string;
  children: ComponentChildren;
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}

export function Nudge({ item }: { item: NudgeItem }) {
  return (
    <Disclosure
      class="note"
      summary={
        <>
          <Icon name="refresh" />
          <span class="verb">Told the model</span>
          <span class="what">{firstLine(item.text)}</span>
        </>
      }
    >
      {() => (
        <>
          <div class="label">{words(item.origin)}</div>
          <pre class="text">{item.text}</pre>
        </>
      )}
    </Disclosure>
  );
}

export function Gate({ item }: { item: GateItem }) {
  return (
    <Disclosure
      class="note bad"
      summary={
        <>
          <Icon name="warning" class="warning" />
          <span class="verb">{item.isNudged ? "Not accepted yet" : "Not accepted"}</span>
          <span class="what">{firstLine(item.text)}</span>
        </>
      }
    >
      {() => (
        <>
          <div class="label">{words(item.origin)}</div>
          <pre class="text">{item.text}</pre>
        </>
      )}
    </Disclosure>
  );
}

export function Notice({ item }: { item: NoticeItem }) {
  return (
    <Line icon={item.level} class={item.level}>
      {item.text}
    </Line>
  );
}

export function Compacted({ item }: { item: CompactedItem }) {
  return (
    <Line icon="fold">
      Shortened the conversation from {count(item.beforeTokens)} to {count(item.afterTokens)} tokens
    </Line>
  );
}

export function Resumed({ item }: { item: ResumedItem }) {
  const lost = item.interrupted.length;
  return (
    <Line icon="history">
      Went on after the server had ended
      {lost > 0 && `; what came of ${plural(lost, "call")} is unknown`}
    </Line>
  );
}

export function Asked({ item }: { item: AskedItem }) {
  if (item.steps.length) return <Planned item={item} />;
  return (
    <div class="asked">
      <Line icon="question">
        <Markdown text={item.text} />
      </Line>
      <div class="reply">{item.answer || "Nobody answered"}</div>
    </div>
  );
}

export function Findings({ item }: { item: FindingsItem }) {
  const post = usePost();
  const { findings, problems } = item;
  if (!findings.length && !problems.length && item.unanswered.length) {
    return <Line icon="search">{`Still checking: ${item.unanswered.join(", ")}`}</Line>;
  }
  if (!findings.length && !problems.length) {
    return <Line icon="pass" class="good">{`Checks pass: ${item.paths.join(", ")}`}</Line>;
  }
  const checkers = [...new Set(findings.map((one) => one.checker))].join(", ");
  return (
    <Disclosure
      class="note"
      summary={
        <>
          <Icon name="error" class={findings.length ? "failed" : "warning"} />
          <span class="verb">
            {findings.length ? plural(findings.length, "problem") : "A check could not run"}
          </span>
          <span class="what">{checkers || problems[0]}</span>
        </>
      }
    >
      {() => (
        <ul class="findings">
          {findings.map((one) => (
            <li key={`${one.path}:${one.line}:${one.column}:${one.code}`}>
              <Finding one={one} onOpen={(uri) => post({ type: "open", uri, line: one.line })} />
            </li>
          ))}
          {problems.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </Disclosure>
  );
}

function Finding({ one, onOpen }: { one: FoundProblem; onOpen: (uri: string) => void }) {
  const { uri } = one;
  return (
    <>
      <button type="button" class="place" disabled={!uri} onClick={() => uri && onOpen(uri)}>
        {one.path}:{one.line + 1}
      </button>{" "}
      {one.message} <span class="dim">{[one.checker, one.code].filter(Boolean).join(" ")}</span>
    </>
  );
}

const ENDINGS: Record<StopReason, string> = {
  completed: "Done",
  final_output: "Done",
  max_steps: "Stopped: all steps used",
  budget_limit: "Stopped: the budget is used up",
  resource_limit: "Stopped: the machine's resources are used up",
  context_full: "Stopped: the conversation no longer fits the model",
  incomplete_action: "Ended without doing what it announced",
  unverified: "Ended with failing checks",
  open_tasks: "Ended with open tasks",
  timeout: "Stopped: the time is over",
  loop_detected: "Stopped: it went in circles",
  low_confidence: "Stopped: it was not sure enough",
  refusal: "The model refused",
  blocked: "Stopped: a hook blocked the prompt",
  error: "Failed",
  cancelled: "Stopped",
};

const ENDING_LOOKS: Partial<Record<TurnStatus, [IconName, string]>> = {
  success: ["pass", "good"],
  failed: ["error", "failed"],
};

export function End({ item }: { item: EndItem }) {
  const [icon, look] = ENDING_LOOKS[item.status] ?? ["circleSlash", ""];
  const facts = [item.steps && plural(item.steps, "step"), money(item.cost)].filter(Boolean);
  return (
    <div class={`end ${item.status}`}>
      {item.output && <Markdown text={item.output} />}
      <div class="line note">
        <Icon name={icon} class={look} />
        <span class="verb">{ENDINGS[item.stopReason]}</span>
        <span class="facts">{facts.join(" · ")}</span>
      </div>
      {item.reason && <div class={`reason ${look}`}>{item.reason}</div>}
      {item.openTasks.length > 0 && (
        <ul class="open-tasks">
          {item.openTasks.map((task) => (
            <li key={task}>{task}</li>
          ))}
        </ul>
      )}
      {item.files.length > 0 && <Files files={item.files} />}
    </div>
  );
}

function Files({ files }: { files: readonly ChangedFile[] }) {
  const post = usePost();
  return (
    <div class="files" role="group" aria-label="Changed files">
      {files.map(({ location: { path, uri }, added, removed }) => (
        <button
          key={path}
          type="button"
          class="file"
          disabled={!uri}
          onClick={() => uri && post({ type: "open", uri, line: null })}
        >
          <Icon name="edit" />
          <FileName path={path} />
          <Stat edits={[{ addedLines: added, removedLines: removed }]} />
        </button>
      ))}
    </div>
  );
}

/** A file by its name first, because a narrow panel cuts what comes last. */
export function FileName({ path }: { path: string }) {
  const cut = path.lastIndexOf("/") + 1;
  return (
    <span class="name" title={path}>
      <span>{path.slice(cut)}</span>
      <span class="dim">{path.slice(0, cut).replace(/\/$/, "")}</span>
    </span>
  );
}
