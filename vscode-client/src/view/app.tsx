// The panel as a whole: what was said, what waits for the user, and where they write.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { State } from "../fold/state";
import { plural, t } from "../l10n";
import type { ServerState } from "../messages";
import type { ConfigResult } from "../wire";
import { Changes } from "./changes";
import { Composer } from "./composer";
import { DraftsContext, PostContext, TakenContext, usePost } from "./context";
import { Disclosure } from "./disclosure";
import { around, localized, plain } from "./format";
import { TranscriptsContext } from "./entry";
import { Icon } from "./icons";
import { useKept } from "./kept";
import { plainText } from "./markdown";
import { firstNeed } from "./needs";
import { PlaceContext } from "./place";
import { Plan } from "./plan";
import { RestoreContext } from "./restore";
import { Origin } from "./rewind";
import { Setup } from "./setup";
import type { Keep, Known, Post } from "./store";
import { Transcript } from "./transcript";
import { Waiting } from "./waiting";

interface Props {
  known: Known;
  post: Post;
  keep: Keep;
}

export function App({ known, post, keep }: Props) {
  const { session, config, server } = known;
  const hasTalk = session.items.length > 0 || session.turn !== null;
  const [isLeft, setLeft] = useState(false);
  const isSettingUp = known.isSettingUp && !hasTalk && (firstNeed(known) !== null || !isLeft);
  /** Where the session comes from, which the user need not read again. */
  const [hidden, setHidden] = useState(known.origin);
  const kept = useKept();
  const place = useMemo(() => kept.placeOf(session.sessionId), [kept, session.sessionId]);
  return (
    <PostContext.Provider value={post}>
      <main class="panel">
        {!isSettingUp && <Banner server={server} config={config} />}
        {isSettingUp ? (
          <Setup known={known} onLeave={() => setLeft(true)} />
        ) : hasTalk ? (
          <RestoreContext.Provider
            value={{
              sessionId: session.sessionId,
              items: session.items,
              turns: known.review,
              isBusy: session.turn !== null,
              restores: known.restores,
              notRewound: known.notRewound,
            }}
          >
            <TranscriptsContext.Provider value={known.transcripts}>
              <TakenContext.Provider value={known.taken}>
                <PlaceContext.Provider value={place}>
                  <Transcript key={session.sessionId} session={session} />
                </PlaceContext.Provider>
              </TakenContext.Provider>
            </TranscriptsContext.Provider>
          </RestoreContext.Provider>
        ) : (
          <Welcome known={known} />
        )}
        <div class="dock">
          <Plan entries={session.plan} />
          <Changes turns={known.review} decided={known.decided} lastTurn={lastTurn(session)} />
          <DraftsContext.Provider value={{ drafts: known.drafts, keep }}>
            <Waiting known={known} />
            {known.origin && known.origin !== hidden && (
              <Origin origin={known.origin} onClose={() => setHidden(known.origin)} />
            )}
            <Composer known={known} keep={keep} />
          </DraftsContext.Provider>
        </div>
        <Announcer session={session} />
      </main>
    </PostContext.Provider>
  );
}

function lastTurn({ items }: State): string | null {
  const begun = items.findLast((one) => one.kind === "user" && one.turnId !== null);
  return begun?.kind === "user" ? begun.turnId : null;
}

function Banner({ server, config }: { server: ServerState; config: ConfigResult | null }) {
  const post = usePost();
  if (server.is === "failed") {
    return (
      <div class="banner failed" role="alert">
        <p>
          <Icon name="error" class="failed" /> {plain(server.problem)}
        </p>
        <p class="dim">{plain(server.advice)}</p>
        <div class="buttons">
          <button
            type="button"
            class="primary"
            onClick={() => post({ type: "run", command: "restartServer" })}
          >
            {t("Restart")}
          </button>
          <button
            type="button"
            class="secondary"
            onClick={() => post({ type: "run", command: "openSettings" })}
          >
            {t("Settings")}
          </button>
          <button
            type="button"
            class="secondary"
            onClick={() => post({ type: "run", command: "showLog" })}
          >
            {t("Log")}
          </button>
        </div>
      </div>
    );
  }
  if (server.is === "stopped") {
    return (
      <div class="banner">
        <p class="dim">{t("The agent server does not run.")}</p>
        <div class="buttons">
          <button
            type="button"
            class="primary"
            onClick={() => post({ type: "run", command: "restartServer" })}
          >
            {t("Start")}
          </button>
        </div>
      </div>
    );
  }
  if (server.is === "running" && server.misfit) {
    return (
      <div class="banner">
        <p role="status">
          <Icon name="warning" class="warning" /> {server.misfit.words}
        </p>
        {server.misfit.canUpdate && (
          <div class="buttons">
            <button
              type="button"
              class="primary"
              onClick={() => post({ type: "run", command: "installServer" })}
            >
              {t("Update the server")}
            </button>
          </div>
        )}
      </div>
    );
  }
  if (!config?.problems.length) return null;
  return (
    <div class="banner warning">
      <Disclosure
        summary={
          <>
            <Icon name="warning" class="warning" />
            <span class="verb">
              {plural(
                config.problems.length,
                "{0} problem in the settings",
                "{0} problems in the settings",
              )}
            </span>
          </>
        }
      >
        {() => config.problems.map((text) => <p key={text}>{text}</p>)}
      </Disclosure>
    </div>
  );
}

function Welcome({ known: { isLoaded, refused, server } }: { known: Known }) {
  const isComing = server.is === "starting" || (server.is === "running" && !isLoaded);
  return (
    <div class="welcome">
      {isComing && !refused && (
        <p class="coming dim" role="status">
          <Icon name="loading" /> {t("The agent starts")}
        </p>
      )}
      {refused && (
        <>
          <Icon name="mark" />
          <p>{refused}</p>
        </>
      )}
      {isLoaded && !refused && (
        <>
          <Icon name="mark" />
          <h1>{t("What shall we change?")}</h1>
          <ul>
            <li>{t("Ask here, or select code and run “Agent: Ask…”.")}</li>
            <li>
              {around(
                t("Write a comment such as {0} in any file and use its light bulb."),
                <code># agent: add type hints</code>,
              )}
            </li>
            <li>{t("Edits land in your open files. Undo works as always.")}</li>
          </ul>
        </>
      )}
    </div>
  );
}

/** Says to a screen reader what a sighted user sees happen, and nothing that is over. */
function Announcer({ session }: { session: State }) {
  const before = useRef(session);
  const [polite, setPolite] = useState("");
  useEffect(() => {
    const was = before.current;
    before.current = session;
    if (was.sessionId !== session.sessionId) return;
    // A turn may begin and end between two drawings.
    const ended = session.items.findLast((one) => one.kind === "end");
    if (ended && ended.key >= was.nextKey) setPolite(ending(session));
    else if (session.turn && session.turn.id !== was.turn?.id) setPolite(t("The agent works"));
  }, [session]);
  return (
    <>
      <div class="sr" role="status">
        {polite}
      </div>
      <div class="sr" role="alert">
        {waiting(session)}
      </div>
    </>
  );
}

/** What waits for the user first; nothing once it is answered. */
function waiting({ approvals: [approval], questions: [question] }: State): string {
  if (approval) return t("Approval needed: {0}", approval.title);
  return question ? t("The agent asks: {0}", plainText(question.text)) : "";
}

const MAX_ANNOUNCED = 1_000;

function ending({ items }: State): string {
  const end = items.findLast((one) => one.kind === "end");
  if (end?.kind !== "end") return "";
  const mine = items.slice(
    items.findLastIndex((one) => one.kind === "user" && one.turnId !== null),
  );
  const answer = mine.findLast((one) => one.kind === "answer");
  const said = end.output || (answer?.kind === "answer" ? answer.kept : "");
  const words = [t("The agent has ended: {0}.", localized(end.title)), end.reason, plainText(said)];
  return words.filter(Boolean).join(" ").slice(0, MAX_ANNOUNCED);
}
