// Where a turn was cut off, and the button that lets it go on: nothing is spent before that.
import { plural, t } from "../l10n";
import { usePost } from "./context";
import { Icon } from "./icons";

/** `lost` says of how many calls nobody knows what came of them. */
export function CutOff({ lost }: { lost: number }) {
  const post = usePost();
  return (
    <div class="cut-off" role="status">
      <Icon name="history" />
      <span class="words">
        {lost > 0
          ? plural(
              lost,
              "The window closed here; what came of {0} call is unknown",
              "The window closed here; what came of {0} calls is unknown",
            )
          : t("The window closed here")}
      </span>
      <button type="button" class="primary" onClick={() => post({ type: "continue" })}>
        {t("Continue")}
      </button>
    </div>
  );
}
