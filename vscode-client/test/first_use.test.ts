// The server starts when somebody uses the agent, and not in each window.
import { expect, test, vi } from "vitest";
import { watchFirstUse } from "../src/first_use";
import type { Server } from "../src/server";
import { languages, workspace } from "./editor";

interface Provider {
  provideCodeActions: (document: unknown, range: unknown) => unknown[];
}

/** A window with these settings and files; answers how often the server was started. */
async function opened({ start = "onFirstUse", files = [] as string[], state = "stopped" } = {}) {
  vi.spyOn(workspace, "getConfiguration").mockReturnValue({
    get: () => start,
    inspect: () => undefined,
  });
  workspace.workspaceFolders = [{ uri: "/shop" }];
  vi.spyOn(workspace.fs, "stat").mockImplementation((uri) =>
    files.includes(String(uri)) ? Promise.resolve({} as never) : Promise.reject(new Error("no")),
  );
  const register = vi.spyOn(languages, "registerCodeActionsProvider");
  const starts = vi.fn(() => Promise.resolve());
  watchFirstUse({ state: { is: state }, start: starts } as unknown as Server);
  await new Promise((done) => setTimeout(done));
  const provider = register.mock.calls[0]?.[1] as Provider;
  const stand = (text: string) =>
    provider.provideCodeActions({ lineAt: () => ({ text }) }, { start: { line: 0 } });
  return { starts, stand };
}

test.each([
  [{}, 0],
  [{ start: "always" }, 1],
  [{ files: ["/shop,.agent-ls", "/shop/.agent-ls"] }, 1],
  [{ files: ["/shop/.git"] }, 0],
])("a window starts it only if it was asked for: %j", async (window, times) => {
  const { starts } = await opened(window);
  expect(starts).toHaveBeenCalledTimes(times);
});

test.each([
  ["# agent: add type hints", 1],
  ["  // Agent: why?", 1],
  ["user_agent = 5", 0],
  ["agent:", 0],
  ["headers = {'User-Agent': x}", 0],
  ["my agent: x", 0],
  ["User-Agent: curl", 0],
  ["/* agent: sort these */", 1],
  ["agent: a line of a docstring", 1],
])("the cursor on an instruction starts it: %s", async (line, times) => {
  const { starts, stand } = await opened();
  expect(stand(line)).toEqual([]);
  expect(starts).toHaveBeenCalledTimes(times);
});

test("a server that failed is not started again by moving the cursor", async () => {
  const { starts, stand } = await opened({ state: "failed" });
  stand("# agent: add type hints");
  expect(starts).not.toHaveBeenCalled();
});
