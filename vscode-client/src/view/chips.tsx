// What goes with the next prompt, above the field; and what went with one, in the transcript.
import { t } from "../l10n";
import type { Chip, Here, HereChoice } from "../messages";
import type { AttachmentInfo, ImageInfo } from "../wire";
import { usePost } from "./context";
import { CHIP_ICONS, Icon } from "./icons";

interface Props {
  here: Here | null;
  choice: HereChoice;
  onChoice: (choice: HereChoice) => void;
  chips: readonly Chip[];
  onRemove: (chip: Chip) => void;
  /** Why something could not be attached; empty: nothing was wrong. */
  problem: string;
}

/** The choice that the editor's state leaves: without a selection there is none to send. */
export function effective(choice: HereChoice, here: Here | null): HereChoice {
  return choice === "selection" && !here?.selection ? "file" : choice;
}

export function Chips({ problem, ...shown }: Props) {
  return (
    <>
      {problem && (
        <p class="problem" role="alert">
          {t("Not attached: {0}", problem)}
        </p>
      )}
      <List {...shown} />
    </>
  );
}

function List({ here, choice, onChoice, chips, onRemove }: Omit<Props, "problem">) {
  const post = usePost();
  return (
    <ul class="chips" aria-label={t("Goes with the prompt")}>
      {here && <HereChip here={here} choice={effective(choice, here)} onChoice={onChoice} />}
      {chips.map((one) => (
        <li key={`${one.imageId ?? ""}${JSON.stringify(one.part)}`} class="chip">
          <Icon name={CHIP_ICONS[one.kind]} />
          <span class="name" title={one.title}>
            {one.name}
          </span>
          <Remove name={one.name} onClick={() => onRemove(one)} />
        </li>
      ))}
      <li>
        <button
          type="button"
          class="chip add"
          title={t("Attach files, problems, changes… (or write @ or #)")}
          onClick={() => post({ type: "run", command: "attach" })}
        >
          <Icon name="add" />
          <span class="name">{t("add")}</span>
        </button>
      </li>
    </ul>
  );
}

interface HereProps {
  here: Here;
  choice: HereChoice;
  onChoice: (choice: HereChoice) => void;
}

/** The active file or its selection: goes along by itself, and can be switched off and on. */
function HereChip({ here, choice, onChoice }: HereProps) {
  if (choice === "none") {
    return (
      <li>
        <button
          type="button"
          class="chip off"
          title={t("{0} does not go along. Click to send where you are in the editor.", here.title)}
          onClick={() => onChoice("selection")}
        >
          <Icon name="circleSlash" />
          <span class="name">{here.name}</span>
          <span class="sr">{t("is not sent: send it")}</span>
        </button>
      </li>
    );
  }
  const isSelection = choice === "selection";
  const name = isSelection ? (here.selection ?? here.name) : here.name;
  const title = isSelection
    ? t("The selected lines: {0}", here.title)
    : t("The name of the active file, and your line: {0}", here.title);
  return (
    <li class="chip here">
      <Icon name={isSelection ? "listSelection" : "file"} />
      <span class="name" title={title}>
        {name}
      </span>
      <Remove name={name} onClick={() => onChoice(isSelection ? "file" : "none")} />
    </li>
  );
}

function Remove({ name, onClick }: { name: string; onClick: () => void }) {
  return (
    <button type="button" class="remove" aria-label={t("Remove {0}", name)} onClick={onClick}>
      <Icon name="close" />
    </button>
  );
}

interface SentProps {
  attachments: readonly AttachmentInfo[];
  images: readonly ImageInfo[];
}

/** What went with a prompt that was sent. */
export function SentChips({ attachments, images }: SentProps) {
  const post = usePost();
  if (!attachments.length && !images.length) return null;
  return (
    <ul class="chips sent" aria-label={t("Went with the prompt")}>
      {attachments.map(({ kind, name, note, location }, index) => {
        const uri = location?.uri;
        const title = [location?.path ?? name, note].filter(Boolean).join(": ");
        const words = (
          <>
            <Icon name={CHIP_ICONS[kind]} />
            <span class="name">{name}</span>
            {note && <span class="sr">{note}</span>}
          </>
        );
        return (
          <li key={index}>
            {uri && kind !== "folder" ? (
              <button
                type="button"
                class="chip"
                title={title}
                onClick={() => post({ type: "open", uri, line: location.line })}
              >
                {words}
              </button>
            ) : (
              <span class="chip" title={title}>
                {words}
              </span>
            )}
          </li>
        );
      })}
      {images.map(({ name, width, height }, index) => (
        <li key={`image ${index}`}>
          <span class="chip" title={`${name}, ${width}×${height}`}>
            <Icon name="fileMedia" />
            <span class="name">{name}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The words of a prompt without the mentions of pictures that stand below it as chips. */
export function withoutMentions(text: string, images: readonly ImageInfo[]): string {
  return images
    .reduce((rest, { name, width, height }) => {
      const mention = `[image ${name} ${width}x${height}]`;
      return rest.replace(` ${mention}`, "").replace(mention, "");
    }, text)
    .trim();
}
