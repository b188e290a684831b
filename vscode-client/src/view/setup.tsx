// What is missing before the agent can work: four steps, each with what does it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { t } from "../l10n";
import type { InstallState, ServerState, SetupAction } from "../messages";
import type { AccessResult, ConfigResult, TrustOffer } from "../wire";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { around, count, modelName, plain, prices, printed, visible } from "./format";
import { Icon } from "./icons";
import { firstNeed, isWrong, type Need, undecided } from "./needs";
import { InstallOutput } from "./setup_output";
import type { Known } from "./store";

interface Props {
  known: Known;
  /** The user leaves what is optional for later. */
  onLeave: () => void;
}

type StepState = "done" | "current" | "later";

export function Setup({ known, onLeave }: Props) {
  const need = firstNeed(known);
  const isUp = known.server.is === "running";
  const hasModel = isUp && Boolean(known.config?.model);
  const hasKey = hasModel && need === null && Boolean(known.setup?.isLooked);
  const failed = failedStep(known);
  const at = (isDone: boolean, isCurrent: boolean): StepState =>
    isDone ? "done" : isCurrent ? "current" : "later";
  return (
    <section class="setup" aria-label={t("Set up")}>
      <h1>
        {t("Set up")} <span class="dim">{t("4 steps, 1 min")}</span>
      </h1>
      <ol>
        <Step
          name={t("Server")}
          state={at(isUp && need !== "server", !isUp || need === "server")}
          isFailed={failed === "server"}
        >
          <ServerStep known={known} />
        </Step>
        <Step name={t("Model")} state={at(hasModel, isUp)} isFailed={failed === "model"}>
          <ModelStep known={known} />
        </Step>
        <Step name={t("Key")} state={at(hasKey, hasModel)} isFailed={failed === "key"}>
          <KeyStep known={known} />
        </Step>
        <Step
          name={t("Trust")}
          state={at(isTrusted(known), hasKey)}
          isFailed={Boolean(known.setup?.problems.trust)}
        >
          <TrustStep known={known} onLeave={onLeave} />
        </Step>
      </ol>
    </section>
  );
}

interface StepProps {
  name: string;
  state: StepState;
  /** What was tried for it did not work, or something about it is wrong. */
  isFailed: boolean;
  children: ComponentChildren;
}

const MARKS = { done: "pass", current: "circleFilled", later: "circle" } as const;
const LOOKS = { done: "good", current: "now", later: "" } as const;

/** The step that shows a problem, of those that something can be missing in. */
function failedStep({ server, config, setup }: Known): Need | null {
  switch (server.is) {
    case "failed":
      return isWrong(server) || setup?.install.is === "failed" ? "server" : null;
    case "running":
      if (config && !config.model) return config.problems.length ? "model" : null;
      return isKeyRefused(setup) ? "key" : null;
    case "starting":
    case "stopped":
      return null;
  }
}

/** Whether there is a key, or was one, that cannot be used. */
function isKeyRefused(setup: Known["setup"]): boolean {
  const access = setup?.access;
  return Boolean(setup?.problems.key) || Boolean(access?.problem && !access.isMissing);
}

function Step({ name, state, isFailed, children }: StepProps) {
  const hasError = state === "current" && isFailed;
  return (
    <li class={`setting ${state}`} aria-current={state === "current" ? "step" : undefined}>
      <Icon name={hasError ? "error" : MARKS[state]} class={hasError ? "failed" : LOOKS[state]} />
      <h2>
        {name}
        {state === "done" && <span class="sr">{t(", done")}</span>}
      </h2>
      <div class="what">{children}</div>
    </li>
  );
}

function ServerStep({ known: { server, setup } }: { known: Known }) {
  const install = setup?.install ?? { is: "idle" };
  if (install.is === "running") return <InstallOutput lines={install.lines} />;
  switch (server.is) {
    case "running":
      return <p>{server.version}</p>;
    case "failed":
      return server.missing === "setting" ? (
        <WrongSetting server={server} />
      ) : (
        <NoServer server={server} install={install} />
      );
    case "starting":
    case "stopped":
      return (
        <p class="dim" role="status">
          <Icon name="loading" /> {t("starts")}
        </p>
      );
  }
}

type Failed = Extract<ServerState, { is: "failed" }>;

function WrongSetting({ server }: { server: Failed }) {
  return (
    <>
      <Problem text={server.problem} advice={server.advice} />
      <div class="buttons">
        <Run command="openSettings" look="primary" words={t("Settings")} />
        <Run command="pickInterpreter" words={t("Pick an interpreter…")} />
      </div>
    </>
  );
}

function NoServer({ server, install }: { server: Failed; install: InstallState }) {
  if (install.is !== "failed") {
    return (
      <>
        <p>{plain(server.problem)}</p>
        <p class="dim">
          {t(
            "Install puts it into an environment of its own, with uv or pip: about 300 MB from your package index.",
          )}
        </p>
        <div class="buttons">
          <Run command="installServer" look="primary" words={t("Install")} />
          <Run command="pickInterpreter" words={t("Pick an interpreter…")} />
        </div>
      </>
    );
  }
  return (
    <>
      <Problem text={install.problem} advice={install.advice} />
      <div class="buttons">
        <Run command="installServer" look="primary" words={t("Try again")} />
        <Run command="pickInterpreter" words={t("Pick an interpreter…")} />
        <Run command="openSettings" words={t("Settings")} />
      </div>
      {install.lines.length > 0 && (
        <Disclosure summary={<span class="verb">{t("Output")}</span>}>
          {() => <pre class="install">{printed(install.lines.join("\n"))}</pre>}
        </Disclosure>
      )}
    </>
  );
}

function ModelStep({ known: { server, config, setup, refused } }: { known: Known }) {
  if (server.is !== "running") return null;
  if (!config) return <p class="dim">{refused ?? ""}</p>;
  if (!config.model) {
    return (
      <>
        {/* A mistake in the settings may be why there is none. */}
        {config.problems.map((text) => (
          <Problem key={text} text={text} />
        ))}
        <Run command="pickModel" look="primary" words={t("Choose…")} />
      </>
    );
  }
  const row = setup?.access?.model;
  const facts = row ? [row.windowTokens ? count(row.windowTokens) : "", prices(row)] : [];
  return (
    <Run
      command="pickModel"
      look="choice"
      words={[modelName(config.model), ...facts].filter(Boolean).join(" · ")}
      title={t("{0}: choose another", config.model)}
      isList
    />
  );
}

function KeyStep({ known: { server, config, setup } }: { known: Known }) {
  if (server.is !== "running" || !config?.model || !setup?.isLooked) return null;
  const { access } = setup;
  if (!access) return <p class="dim">{t("not checked")}</p>;
  if (access.problem) return <MissingKey access={access} problem={setup.problems.key} />;
  const { signIn, keyVariable } = access.provider;
  if (signIn) return <p class="dim">{t("signed in")}</p>;
  // A server of one's own may need none although its provider does.
  return <p class="dim">{keyVariable ? t("nothing is missing") : t("none is needed")}</p>;
}

interface MissingProps {
  access: AccessResult;
  /** Why a key that was given is not kept. */
  problem: string | undefined;
}

function MissingKey({ access, problem }: MissingProps) {
  const { signIn, keyVariable, provider } = access.provider;
  const hasOther = !access.accounts.some((one) => one.provider === provider);
  const words = problem ?? (access.isMissing ? "" : access.problem);
  return (
    <>
      {words && <Problem text={words} />}
      {keyVariable && <KeyForm provider={provider} variable={keyVariable} />}
      <div class="buttons">
        <Run
          command="signIn"
          look={signIn ? "primary" : "secondary"}
          words={
            signIn
              ? t("Sign in…")
              : hasOther
                ? t("Use an account of another provider…")
                : t("Or sign in…")
          }
        />
      </div>
    </>
  );
}

function KeyForm({ provider, variable }: { provider: string; variable: string }) {
  const act = useAct();
  const [key, setKey] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!key.trim()) return;
        act({ do: "storeKey", variable, key });
        setKey("");
      }}
    >
      <input
        type="password"
        value={key}
        autocomplete="off"
        spellcheck={false}
        aria-label={t("Key for {0}", provider)}
        placeholder={t("Key for {0}", provider)}
        onInput={(event) => setKey(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={!key.trim()}>
        {t("Save")}
      </button>
      <p class="dim">
        {around(
          t("Kept in the editor’s secret storage. The server gets it as {0}."),
          <code>{variable}</code>,
        )}
      </p>
    </form>
  );
}

function isTrusted({ server, config }: Known): boolean {
  const isUp = server.is === "running";
  return isUp && config !== null && config.roots.every((root) => root.isTrusted);
}

function TrustStep({ known, onLeave }: Props) {
  const { config, setup, server } = known;
  if (server.is !== "running" || !setup?.offers) return null;
  if (isTrusted(known)) return <p class="dim">{t("this folder is trusted")}</p>;
  const offers = undecided(setup);
  const lines = offers.flatMap((one) => one.switchesOn);
  if (!lines.length) return <p class="dim">{t("switches on: nothing")}</p>;
  const isNow = firstNeed(known) === null;
  return (
    <>
      {setup.problems.trust && <Problem text={setup.problems.trust} />}
      <p class={isNow ? "" : "dim"}>{trustQuestion(offers, config)}</p>
      <ul class={isNow ? "" : "dim"}>
        {lines.map((line) => (
          <li key={line}>{plain(line)}</li>
        ))}
      </ul>
      {isNow && <TrustButtons isOne={offers.length === 1} onLeave={onLeave} />}
    </>
  );
}

function trustQuestion(offers: readonly TrustOffer[], config: ConfigResult | null): string {
  const nameOf = (uri: string) => config?.roots.find((one) => one.uri === uri)?.name ?? uri;
  const names = offers.map(({ uri }) => `“${visible(nameOf(uri))}”`).join(", ");
  return offers.length === 1
    ? t("Trust the folder {0}? The agent then uses or runs:", names)
    : t("Trust the folders {0}? The agent then uses or runs:", names);
}

function TrustButtons({ isOne, onLeave }: { isOne: boolean; onLeave: () => void }) {
  const act = useAct();
  return (
    <div class="buttons">
      <button type="button" class="primary" onClick={() => act({ do: "trust" })}>
        {isOne ? t("Trust this folder") : t("Trust these folders")}
      </button>
      <button type="button" class="secondary" onClick={onLeave}>
        {t("Not now")}
      </button>
    </div>
  );
}

function Problem({ text, advice }: { text: string; advice?: string }) {
  return (
    <div role="alert">
      <p class="problem">{plain(text)}</p>
      {advice && <p class="dim">{plain(advice)}</p>}
    </div>
  );
}

interface RunProps {
  command: "installServer" | "pickInterpreter" | "openSettings" | "pickModel" | "signIn";
  words: string;
  look?: "primary" | "secondary" | "choice";
  title?: string;
  /** It opens a list of alternatives. */
  isList?: boolean;
}

function Run({ command, words, look = "secondary", title, isList = false }: RunProps) {
  const post = usePost();
  return (
    <button type="button" class={look} title={title} onClick={() => post({ type: "run", command })}>
      {isList ? <span class="name">{words}</span> : words}
      {isList && <Icon name="chevronDown" />}
    </button>
  );
}

function useAct(): (action: SetupAction) => void {
  const post = usePost();
  return (action) => post({ type: "setup", action });
}
