import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { answering, type Drafts, NO_DRAFTS } from "./drafts";
import type { Keep, Post, Taken } from "./store";

/** Gives every component the way to the extension. */
export const PostContext = createContext<Post>(() => {});

export const usePost = () => useContext(PostContext);

/** Gives every component what turns took that are over. */
export const TakenContext = createContext<Taken>(new Map());

/** Gives every component what the user has written, and the way to keep it. */
export const DraftsContext = createContext<{ drafts: Drafts; keep: Keep }>({
  drafts: NO_DRAFTS,
  keep: () => {},
});

/** The text of an answer's field, which is kept while it is not sent, and how to change it. */
export function useKeptText(name: string): [string, (text: string) => void] {
  const { drafts, keep } = useContext(DraftsContext);
  const written = drafts.answers[name] ?? "";
  const [text, setText] = useState(written);
  // The prompt may have answered.
  useEffect(() => setText(written), [written]);
  return [
    text,
    (now) => {
      setText(now);
      keep((before) => answering(before, name, now), false);
    },
  ];
}
