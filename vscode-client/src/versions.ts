// Whether this extension and the server that runs understand each other.
import { t } from "./l10n";
import { PROTOCOL_VERSION } from "./wire";

export interface Versions {
  /** Of the server's package; empty when it does not say. */
  server: string;
  /** Of the agent's own messages; null when it knows none. */
  protocol: number | null;
}

/**
 * What to tell the user when extension and server do not fit; empty when they do.
 *
 * Packages fit when the version's first two numbers are the same.
 */
export function misfit(extension: string, { server, protocol }: Versions): string {
  if (protocol === PROTOCOL_VERSION && !server) return "";
  const other = compare(server, extension);
  const isServerOld =
    protocol === PROTOCOL_VERSION ? other < 0 : (protocol ?? 0) < PROTOCOL_VERSION;
  if (protocol === PROTOCOL_VERSION && other === 0) return "";
  if (!server) {
    return isServerOld
      ? t(
          "Extension {0} and server of an unknown version do not fit: update the server.",
          extension,
        )
      : t(
          "Extension {0} and server of an unknown version do not fit: update the extension.",
          extension,
        );
  }
  return isServerOld
    ? t("Extension {0} and server {1} do not fit: update the server.", extension, server)
    : t("Extension {0} and server {1} do not fit: update the extension.", extension, server);
}

/** Below zero when the first version is older in its first two numbers; zero when they are equal. */
function compare(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split(".").slice(0, 2).map(Number));
  const [major = 0, minor = 0] = left ?? [];
  const [otherMajor = 0, otherMinor = 0] = right ?? [];
  return major - otherMajor || minor - otherMinor;
}
