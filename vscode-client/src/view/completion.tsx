// Completes the prompt while it is typed: @ files and folders, # symbols, / commands.
//
// The field is a combobox while the list is open, and keeps the focus; the list is a listbox.
import type { RefObject, TextareaHTMLAttributes } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../l10n";
import type { Chip } from "../messages";
import type { CompleteResult, CompletionRow } from "../wire";
import { usePost } from "./context";
import { CHIP_ICONS, Icon, type IconName } from "./icons";

/** A cheap look, so that most keys ask nobody; the server decides what is completed. */
const BEGUN = /(?:^|\s)[@#]\S*$|^\s*\/\S*$/;
const AGAIN_MS = 700;

export interface Completed {
  id: number;
  result: CompleteResult;
}

export interface Completion {
  /** For the field. */
  attributes: TextareaHTMLAttributes;
  /** Call it when the text or the cursor has changed. */
  look: () => void;
  /** Takes a key, and says whether it was for the list. */
  onKey: (event: KeyboardEvent) => boolean;
  close: () => void;
  list: preact.JSX.Element | null;
}

interface Wanted {
  box: RefObject<HTMLTextAreaElement | null>;
  completed: Completed | null;
  onText: (text: string) => void;
  onChip: (chip: Chip) => void;
}

let lastId = 0;

export function useCompletion({ box, completed, onText, onChip }: Wanted): Completion {
  const post = usePost();
  const id = useId();
  /** The request that counts; 0: none. */
  const asked = useRef({ id: 0, text: "" });
  /** With the text before the cursor that it is about. */
  const [found, setFound] = useState<(CompleteResult & { text: string }) | null>(null);
  const [chosen, choose] = useState(0);
  const close = () => {
    asked.current = { id: 0, text: "" };
    setFound(null);
  };
  const ask = (text: string) => {
    asked.current = { id: ++lastId, text };
    post({ type: "complete", id: lastId, text });
  };
  const look = () => {
    const text = before(box.current);
    if (text === asked.current.text) return;
    if (BEGUN.test(text)) ask(text);
    else close();
  };
  useEffect(() => {
    if (!completed || completed.id !== asked.current.id) return;
    const { result } = completed;
    setFound({ ...result, text: asked.current.text });
    choose(0);
    if (!result.isIncomplete) return;
    // What is still being read may be there soon.
    const { id: mine, text } = asked.current;
    const timer = setTimeout(() => asked.current.id === mine && ask(text), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [completed]);
  const rows = found?.rows ?? [];
  const isOpen = rows.length > 0 || found?.isIncomplete === true;
  const pick = (row: CompletionRow) => {
    const area = box.current;
    if (!area || !found) return;
    // The cursor may have moved since, or more have been typed.
    const { text, word } = found;
    const now = before(area);
    if (!now.startsWith(text)) {
      close();
      return;
    }
    area.setRangeText(`${row.insert} `, text.length - word.length, now.length, "end");
    close();
    onText(area.value);
    if (row.part) onChip(chipOf(row));
    area.focus();
  };
  const onKey = (event: KeyboardEvent): boolean => {
    if (!isOpen || event.isComposing) return false;
    const row = rows[chosen];
    const keys: Record<string, (() => void) | undefined> = { Escape: close };
    if (row && !event.shiftKey) {
      keys.ArrowDown = () => choose((chosen + 1) % rows.length);
      keys.ArrowUp = () => choose((chosen - 1 + rows.length) % rows.length);
      keys.Enter = keys.Tab = () => pick(row);
    }
    const act = keys[event.key];
    if (!act) return false;
    act();
    event.preventDefault();
    return true;
  };
  // The types know a text area only as a textbox; while the list is open it is a combobox.
  const attributes = (
    isOpen
      ? {
          role: "combobox",
          "aria-autocomplete": "list",
          "aria-expanded": true,
          "aria-controls": id,
          "aria-activedescendant": rows[chosen] ? `${id}-${chosen}` : undefined,
        }
      : {}
  ) as TextareaHTMLAttributes;
  const list = (
    <>
      {isOpen && <List id={id} rows={rows} chosen={chosen} onPick={pick} />}
      <span class="sr" role="status">
        {isOpen && (rows.length ? t("{0} found", rows.length) : t("Files are being read"))}
      </span>
    </>
  );
  return { attributes, look, onKey, close, list };
}

function before(area: HTMLTextAreaElement | null): string {
  if (!area || area.selectionStart !== area.selectionEnd) return "";
  return area.value.slice(0, area.selectionStart);
}

function chipOf({ kind, label, detail, part }: CompletionRow): Chip {
  if (!part) throw new Error("a row without a part is no chip");
  const path = label.replace(/\/$/, "");
  const name = path.slice(path.lastIndexOf("/") + 1);
  const isSymbol = kind === "symbol";
  return {
    kind: part.type,
    name: isSymbol ? label : name + (kind === "folder" ? "/" : ""),
    title: isSymbol ? t("{0} in {1}", label, detail) : label,
    part,
  };
}

interface ListProps {
  id: string;
  rows: readonly CompletionRow[];
  chosen: number;
  onPick: (row: CompletionRow) => void;
}

const ROW_ICONS: Record<CompletionRow["kind"], IconName> = {
  file: CHIP_ICONS.file,
  folder: CHIP_ICONS.folder,
  symbol: CHIP_ICONS.symbol,
  command: "terminal",
};

function List({ id, rows, chosen, onPick }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen, rows]);
  return (
    <div class="completion">
      <div id={id} ref={list} class="rows" role="listbox" aria-label={t("To complete the prompt")}>
        {rows.map((row, index) => (
          // The keys are the field's, which keeps the focus.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={`${row.kind} ${row.label} ${row.detail}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            title={[row.label, row.detail].filter(Boolean).join(" — ")}
            aria-selected={index === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onPick(row)}
          >
            <Icon name={ROW_ICONS[row.kind]} />
            <Label row={row} />
          </div>
        ))}
      </div>
      {!rows.length && <p class="dim">{t("Files are being read…")}</p>}
    </div>
  );
}

/** A file by its name first, because a narrow panel cuts what comes last. */
function Label({ row: { kind, label, detail } }: { row: CompletionRow }) {
  const isPath = kind === "file" || kind === "folder";
  const path = label.replace(/\/$/, "");
  const cut = isPath ? path.lastIndexOf("/") + 1 : 0;
  const more = isPath ? path.slice(0, cut).replace(/\/$/, "") : detail;
  return (
    <>
      <span class="name">
        {path.slice(cut)}
        {kind === "folder" && "/"}
      </span>
      {more && (
        <span class="dim detail" title={more}>
          {more}
        </span>
      )}
    </>
  );
}
