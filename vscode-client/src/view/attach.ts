// What is pasted or dropped into the panel: pictures with their bytes, files by their names.
import { t } from "../l10n";
import type { Chip } from "../messages";

export const MAX_IMAGE_BYTES = 20_000_000;
const KINDS = /^image\/(?:png|jpeg|gif|webp)$/;

/** What a paste or a drop holds. */
export interface Transferred {
  images: readonly File[];
  uris: readonly string[];
  /** What of it cannot be attached, and why; empty: nothing. */
  problem: string;
}

/** What a paste brings: a picture where there is no text, which is pasted as always. */
export function pasted(data: DataTransfer): Transferred {
  const files = data.types.includes("text/plain") ? [] : [...data.files];
  return sorted(files, []);
}

/** What a drop brings. */
export function dropped(data: DataTransfer): Transferred {
  // Only the editor's own type lists several files.
  const listed = data.getData("application/vnd.code.uri-list") || data.getData("text/uri-list");
  const uris = listed.split(/\r?\n/).filter((line) => line && !line.startsWith("#"));
  return uris.length ? { images: [], uris, problem: "" } : sorted([...data.files], []);
}

/** Says whether something that is dragged may be dropped here. */
export function isAttachable(data: DataTransfer): boolean {
  return data.types.some((type) => type === "Files" || type.endsWith("uri-list"));
}

function sorted(files: readonly File[], uris: readonly string[]): Transferred {
  const images = files.filter((one) => KINDS.test(one.type) && one.size <= MAX_IMAGE_BYTES);
  const large = files.filter((one) => KINDS.test(one.type) && one.size > MAX_IMAGE_BYTES);
  const others = files.filter((one) => !KINDS.test(one.type));
  const problems = [
    ...large.map((one) => t("{0} is larger than 20 MB.", one.name)),
    ...others.map((one) =>
      t(
        "{0} comes without its place. Drag files from the Explorer, and hold Shift while you drop them.",
        one.name,
      ),
    ),
  ];
  return { images, uris, problem: problems.join(" ") };
}

/** A picture's bytes as a data URL. */
export function readImage(file: File): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(typeof reader.result === "string" ? reader.result : "");
    reader.onerror = () => fail(new Error(t("{0} cannot be read.", file.name)));
    reader.readAsDataURL(file);
  });
}

/** The chip of a picture whose bytes were given to the extension under an id. */
export function imageChip(file: File, imageId: string, taken: readonly Chip[]): Chip {
  const name = freeName(file.name || "image.png", taken);
  return { kind: "image", name, title: name, part: { type: "image", name }, imageId };
}

/** Browsers call every pasted picture image.png; the model must tell them apart. */
function freeName(name: string, taken: readonly Chip[]): string {
  const used = new Set(taken.map((one) => one.name));
  const at = name.lastIndexOf(".");
  const [stem, end] = at > 0 ? [name.slice(0, at), name.slice(at)] : [name, ""];
  let free = name;
  for (let number = 2; used.has(free); number++) free = `${stem}-${number}${end}`;
  return free;
}

/** The chips with more of them; one that is there already stays once. */
export function withChips(chips: readonly Chip[], more: readonly Chip[]): readonly Chip[] {
  const found = new Map<string, Chip>();
  for (const one of [...chips, ...more]) {
    const name = identity(one);
    if (!found.has(name)) found.set(name, one);
  }
  return [...found.values()];
}

function identity({ part, imageId }: Chip): string {
  return imageId ?? JSON.stringify(part);
}
