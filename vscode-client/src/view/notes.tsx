// The quiet lines of a transcript: what the machine did, said and found.
import type { ComponentChildren } from "preact";
import { words } from "../fold/reduce";
import type {
  AskedItem,
  CompactedItem,
  FindingsItem,
  GateItem,
  NoticeItem,
  NudgeItem,
  ResumedItem,
} from "../fold/state";
import { plural, t } from "../l10n";
import type { FoundProblem } from "../wire";
import { Markdown } from "./answer";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { count, firstLine } from "./format";
import { Icon, type IconName } from "./icons";
import { Planned } from "./planned";
import { nameOf } from "./rows";

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

export function Nudge({ item }: { item: NudgeItem }) {
  return (
    <Disclosure
      class="note"
      name={nameOf(item)}
      summary={
        <>
          <Icon name="refresh" />
          <span class="verb">{t("Told the model")}</span>
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
      name={nameOf(item)}
      summary={
        <>
          <Icon name="warning" class="warning" />
          <span class="verb">{item.isNudged ? t("Not accepted yet") : t("Not accepted")}</span>
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
  if (!item.title) {
    return (
      <Line icon={item.level} class={item.level}>
        {item.text}
      </Line>
    );
  }
  return (
    <Disclosure
      class={`note ${item.level}`}
      name={nameOf(item)}
      summary={
        <>
          <Icon name={item.level} class={item.level} />
          <span class="verb">{item.title}</span>
        </>
      }
    >
      {() => <div class="reason">{item.text}</div>}
    </Disclosure>
  );
}

export function Compacted({ item }: { item: CompactedItem }) {
  return (
    <Line icon="fold">
      {t(
        "Shortened the conversation from {0} to {1} tokens",
        count(item.beforeTokens),
        count(item.afterTokens),
      )}
    </Line>
  );
}

export function Resumed({ item }: { item: ResumedItem }) {
  const lost = item.interrupted.length;
  return (
    <Line icon="history">
      {lost > 0
        ? plural(
            lost,
            "Went on after the server had ended; what came of {0} call is unknown",
            "Went on after the server had ended; what came of {0} calls is unknown",
          )
        : t("Went on after the server had ended")}
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
      <div class="reply">{item.answer || t("Nobody answered")}</div>
    </div>
  );
}

export function Findings({ item }: { item: FindingsItem }) {
  const post = usePost();
  const { findings, problems } = item;
  if (!findings.length && !problems.length && item.unanswered.length) {
    return <Line icon="search">{t("Still checking: {0}", item.unanswered.join(", "))}</Line>;
  }
  if (!findings.length && !problems.length) {
    return (
      <Line icon="pass" class="good">
        {t("Checks pass: {0}", item.paths.join(", "))}
      </Line>
    );
  }
  const checkers = [...new Set(findings.map((one) => one.checker))].join(", ");
  return (
    <Disclosure
      class="note"
      name={nameOf(item)}
      summary={
        <>
          <Icon name="error" class={findings.length ? "failed" : "warning"} />
          <span class="verb">
            {findings.length
              ? plural(findings.length, "{0} problem", "{0} problems")
              : t("A check could not run")}
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
