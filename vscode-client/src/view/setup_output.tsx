// What an installation says while it runs, the newest line in sight.
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../l10n";
import { usePost } from "./context";
import { printed } from "./format";
import { Icon } from "./icons";

export function InstallOutput({ lines }: { lines: readonly string[] }) {
  const post = usePost();
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <>
      <p role="status">
        <Icon name="loading" /> {t("is being installed")}
      </p>
      {/* A region that scrolls is reached with the keyboard. */}
      <pre ref={box} class="install" tabIndex={0} aria-label={t("Output of the installation")}>
        {printed(lines.join("\n"))}
      </pre>
      <div class="buttons">
        <button
          type="button"
          class="secondary"
          onClick={() => post({ type: "setup", action: { do: "cancelInstall" } })}
        >
          {t("Cancel")}
        </button>
      </div>
    </>
  );
}
