// Where a turn was cut off, and the button that lets it go on: nothing is spent before that.
import { usePost } from "./context";
import { plural } from "./format";
import { Icon } from "./icons";

/** `lost` says of how many calls nobody knows what came of them. */
export function CutOff({ lost }: { lost: number }) {
  const post = usePost();
  return (
    <div class="cut-off" role="status">
      <Icon name="history" />
      <span class="words">
        The window closed here
        {lost > 0 && `; what came of ${plural(lost, "call")} is unknown`}
      </span>
      <button type="button" class="primary" onClick={() => post({ type: "continue" })}>
        Continue
      </button>
    </div>
  );
}
