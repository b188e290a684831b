import type { ToPanel } from "../src/messages";

export const SETUPS: Record<string, ToPanel[]>;
