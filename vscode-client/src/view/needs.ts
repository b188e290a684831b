// What the agent needs before it can work, in the order in which the set-up brings it.
import { t } from "../l10n";
import type { ServerState, SetupState } from "../messages";
import type { ConfigResult, TrustOffer } from "../wire";

export type Need = "server" | "model" | "key";

interface Known {
  server: ServerState;
  config: ConfigResult | null;
  setup: SetupState | null;
}

/** The first thing that is missing; null when nothing is, or when it is not known yet. */
export function firstNeed({ server, config, setup }: Known): Need | null {
  if (setup?.install.is === "running" || isMissing(server)) return "server";
  if (server.is !== "running" || !config) return null;
  if (!config.model) return "model";
  return setup?.access?.problem ? "key" : null;
}

function isMissing(server: ServerState): boolean {
  return server.is === "failed" && server.missing !== undefined;
}

/** Whether the server is not found because a setting names something else. */
export function isWrong(server: ServerState): boolean {
  return server.is === "failed" && server.missing === "setting";
}

/** Whether nothing is missing, which is known, and no folder waits to be trusted. */
export function isSetUp(known: Known): boolean {
  const { server, config, setup } = known;
  if (server.is === "failed") return !server.missing;
  const isKnown = server.is === "running" && Boolean(config?.model) && setup?.isLooked;
  return Boolean(isKnown) && firstNeed(known) === null && !undecided(setup).length;
}

/** The open folders that hold something which only trust switches on. */
export function undecided(setup: SetupState | null): readonly TrustOffer[] {
  return setup?.offers?.filter((one) => !one.isTrusted && one.switchesOn.length) ?? [];
}

const WORDS: Record<Need, string> = {
  server: t("Install the server first"),
  model: t("Choose a model first"),
  key: t("Give the key first"),
};

/** What to do before a prompt makes sense; empty when nothing is missing. */
export function blocked(known: Known): string {
  const need = firstNeed(known);
  if (isWrong(known.server)) return t("Correct the setting first");
  if (need === "key" && known.setup?.access?.provider.signIn) return t("Sign in first");
  return need ? WORDS[need] : "";
}
