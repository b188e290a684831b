import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Post } from "./store";

/** Gives every component the way to the extension. */
export const PostContext = createContext<Post>(() => {});

export const usePost = () => useContext(PostContext);
