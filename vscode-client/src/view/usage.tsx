// How full the model's window is and what the session has cost; on demand, what fills it.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../l10n";
import type { ContextResult, UsageUpdate } from "../wire";
import { usePost } from "./context";
import { count, money } from "./format";
import type { Known } from "./store";

interface Props {
  usage: UsageUpdate | null;
  context: Known["context"];
}

export function Usage({ usage, context }: Props) {
  const post = usePost();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // What a request has added is worth another look.
    if (isOpen) post({ type: "context" });
  }, [isOpen, usage]);
  if (!usage) return null;
  const { used, size, cost, total } = usage;
  const share = size ? Math.min(1, used / size) : null;
  const details = [
    size
      ? t("Context: {0} of {1} tokens", count(used), count(size))
      : t("Context: {0} tokens", count(used)),
    t(
      "Session: {0} in ({1} from cache), {2} out",
      count(total.inputTokens),
      count(total.cacheReadTokens),
      count(total.outputTokens),
    ),
    cost.amount > 0
      ? t("Cost: {0}", money(cost.amount))
      : t("Cost: nothing, or unknown for this model"),
  ];
  const percent = share === null ? count(used) : `${Math.round(share * 100)} %`;
  const seen = [percent, money(cost.amount)].filter(Boolean);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const compact = () => {
    post({ type: "compact" });
    // The transcript tells what comes of it.
    close();
  };
  return (
    <>
      {isOpen && <Popover details={details} known={context} onClose={close} onCompact={compact} />}
      <button
        ref={button}
        type="button"
        class="choice usage"
        title={details.join("\n")}
        aria-label={t("{0}: what fills the window", seen.join(" "))}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {share !== null && <Meter share={share} />}
        {seen.map((words) => (
          <span key={words}>{words}</span>
        ))}
      </button>
    </>
  );
}

const NAMES: Record<ContextResult["parts"][number]["kind"], string> = {
  system: t("System"),
  rules: t("Rules"),
  tools: t("Tools"),
  files: t("Files read"),
  results: t("Results of calls"),
  history: t("Prompts, answers"),
};

interface PopoverProps {
  details: readonly string[];
  known: Known["context"];
  onClose: () => void;
  onCompact: () => void;
}

function Popover({ details, known, onClose, onCompact }: PopoverProps) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), []);
  const context = known?.context;
  const whole = context?.usedTokens ?? 0;
  return (
    // It has the focus when it opens, and Escape leaves it.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <section
      ref={box}
      class="card popover"
      role="group"
      tabIndex={-1}
      aria-label={t("What fills the window")}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <h2>{t("What fills the window")}</h2>
      {!known && <p class="dim">{t("Counting")}</p>}
      {known?.problem && <p class="problem">{known.problem}</p>}
      {context && (
        <table>
          <tbody>
            {context.parts.map(({ kind, tokens }) => (
              <tr key={kind}>
                <th scope="row">{NAMES[kind]}</th>
                <td class="share">
                  <span
                    style={{ width: `${whole ? Math.min(100, (100 * tokens) / whole) : 0}%` }}
                  />
                </td>
                <td class="number">{count(tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="dim">{details.join("\n")}</p>
      <p class="dim">{t("The conversation is shortened by itself before the window is full.")}</p>
      <div class="buttons">
        <button type="button" onClick={onCompact} title={t("Replace what is older by a summary")}>
          {t("Compact")}
        </button>
        <button type="button" class="secondary" onClick={onClose}>
          {t("Close")}
        </button>
      </div>
    </section>
  );
}

const RADIUS = 6;
const ROUND = 2 * Math.PI * RADIUS;

function Meter({ share }: { share: number }) {
  const level = share >= 0.9 ? "high" : share >= 0.75 ? "mid" : "low";
  return (
    <svg class={`meter ${level}`} viewBox="0 0 16 16" aria-hidden="true">
      <circle class="track" cx="8" cy="8" r={RADIUS} />
      <circle
        class="value"
        cx="8"
        cy="8"
        r={RADIUS}
        stroke-dasharray={`${share * ROUND} ${ROUND}`}
      />
    </svg>
  );
}
