// How a turn ended: a line when it went well, else one card with what to do next.
import { useContext } from "preact/hooks";
import type { ChangedFile, EndItem, NextAction } from "../fold/state";
import { plural, t } from "../l10n";
import type { PanelCommand } from "../messages";
import type { TurnTaken } from "../wire";
import { Markdown } from "./answer";
import { Stat } from "./call";
import { TakenContext, usePost } from "./context";
import { Disclosure } from "./disclosure";
import { FileName } from "./file_name";
import { count, duration, localized, money } from "./format";
import { Icon } from "./icons";
import { nameOf } from "./rows";

export function End({ item, isLast }: { item: EndItem; isLast: boolean }) {
  const isFine = item.status === "success" || item.status === "cancelled";
  return (
    <div class={`end ${item.status}`}>
      {item.output && <Markdown text={item.output} />}
      {isFine ? <Line item={item} isLast={isLast} /> : <Card item={item} isLast={isLast} />}
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

/** What the turn took: `5 steps · 41 s · 22k · $0.13`; how its tokens came about on demand. */
function Facts({ item }: { item: EndItem }) {
  const taken = useContext(TakenContext).get(item.turnId);
  const steps = taken?.steps ?? item.steps;
  const spent = taken ? used(taken) : [money(item.cost)];
  // A turn that ended with its first request made no step.
  if (steps <= 1 && !spent.some(Boolean)) return null;
  const words = [
    steps && plural(steps, "{0} step", "{0} steps"),
    taken && duration(taken.durationMs),
    ...spent,
  ];
  return (
    <span class="facts" title={taken && detail(taken)}>
      {words.filter(Boolean).join(" · ")}
    </span>
  );
}

/** Tokens and money, as far as there are any. */
function used(taken: TurnTaken): string[] {
  return [tokens(taken) ? count(tokens(taken)) : "", money(taken.cost.amount)];
}

function tokens({ tokens: { inputTokens, outputTokens } }: TurnTaken): number {
  return inputTokens + outputTokens;
}

function detail({ tokens: { inputTokens, cacheReadTokens, outputTokens } }: TurnTaken): string {
  return t(
    "Tokens: {0} in ({1} from cache), {2} out",
    count(inputTokens),
    count(cacheReadTokens),
    count(outputTokens),
  );
}

function Line({ item, isLast }: { item: EndItem; isLast: boolean }) {
  const post = usePost();
  const isDone = item.status === "success";
  return (
    <>
      <div class="line note">
        <Icon name={isDone ? "pass" : "circleSlash"} class={isDone ? "good" : ""} />
        <span class="verb">{localized(item.title)}</span>
        {!isDone && isLast && (
          <button
            type="button"
            class="secondary"
            onClick={({ detail }) => isFirst(detail) && post(GO_ON)}
          >
            {NAMES.go_on}
          </button>
        )}
        <Facts item={item} />
      </div>
      {item.reason && item.reason !== `${item.title}.` && <div class="reason">{item.reason}</div>}
    </>
  );
}

/** Says whether a click is no second one of a double click, which would send twice. */
const isFirst = (clicks: number) => clicks < 2;

const GO_ON = { type: "prompt", text: t("Go on."), whenBusy: "steer" } as const;

const COMMANDS: Partial<Record<NextAction, PanelCommand>> = {
  change_key: "changeKey",
  sign_in: "signIn",
  choose_model: "pickModel",
  new_session: "newSession",
  open_settings: "openSettings",
  show_log: "showLog",
};

const NAMES: Record<NextAction, string> = {
  retry: t("Retry"),
  go_on: t("Go on"),
  change_key: t("Change key"),
  sign_in: t("Sign in"),
  choose_model: t("Other model"),
  new_session: t("New session"),
  open_settings: t("Open settings"),
  show_log: t("Log"),
};

/** What went wrong in a few words, what to press next, and the reason on demand. */
function Card({ item, isLast }: { item: EndItem; isLast: boolean }) {
  const post = usePost();
  const isFailed = item.status === "failed";
  const act = (action: NextAction) => {
    const command = COMMANDS[action];
    if (command) {
      post({ type: "run", command });
      return;
    }
    if (action === "retry") post({ type: "again", turnId: item.turnId });
    else post(GO_ON);
  };
  // What it asks the user must be seen.
  const isAsking = item.status === "escalated";
  return (
    <section class={`card outcome ${item.status}`} aria-label={item.title}>
      <header>
        <Icon name={isFailed ? "error" : "warning"} class={isFailed ? "failed" : "warning"} />
        <h2>{item.title}</h2>
      </header>
      <div class="next">
        {isLast &&
          item.actions.map((action, index) => (
            <button
              key={action}
              type="button"
              class={index === 0 ? "primary" : "secondary"}
              onClick={({ detail }) => isFirst(detail) && act(action)}
            >
              {NAMES[action]}
            </button>
          ))}
        {item.reason && (
          <Disclosure class="reasons" name={nameOf(item)} isOpen={isAsking} summary={t("Why")}>
            {() => <div class="reason">{item.reason}</div>}
          </Disclosure>
        )}
        <Facts item={item} />
      </div>
    </section>
  );
}

function Files({ files }: { files: readonly ChangedFile[] }) {
  const post = usePost();
  return (
    <div class="files" role="group" aria-label={t("Changed files")}>
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
