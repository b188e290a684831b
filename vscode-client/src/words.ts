/** What went wrong, in the words of who knows. */
export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
