// Keeps the second key of a chord out of what is typed: after Ctrl+K the next key is a command's.
//
// The editor sees every key of a webview and runs the command; the page would type the key as well.

const LIMIT_MS = 5_000;

/** The editor goes by the key's place where its letter is not a Latin one. */
function isK({ key, code }: KeyboardEvent): boolean {
  return key.toLowerCase() === "k" || (key > "\u007f" && code === "KeyK");
}

/** Watch the keys of a page; `isMac` says which key begins a chord. */
export function watchChords(page: EventTarget, isMac: boolean): void {
  let begunMs: number | null = null;
  page.addEventListener(
    "keydown",
    (event) => {
      const { key, ctrlKey, metaKey, altKey, timeStamp } = event as KeyboardEvent;
      if (["Control", "Meta", "Shift", "Alt"].includes(key)) return;
      const isPending = begunMs !== null && timeStamp - begunMs < LIMIT_MS;
      const isFirst = isK(event as KeyboardEvent) && (isMac ? metaKey : ctrlKey) && !altKey;
      begunMs = isFirst && !isPending ? timeStamp : null;
      if (isPending) event.preventDefault();
    },
    { capture: true },
  );
}
