// The list of models to choose from, with what each can hold and costs.
import * as vscode from "vscode";
import type { Agent } from "./server";
import { count, prices } from "./view/format";
import type { ModelRow, ModelsResult } from "./wire";

export interface ChosenModel {
  model: string;
  /** How much it may be told to think; empty: it does not think, or that is not known. */
  efforts: readonly string[];
}

interface Item extends vscode.QuickPickItem {
  model?: string;
  efforts?: readonly string[];
}

/**
 * The model that the user chose, or typed; undefined when they chose none.
 *
 * A name that is not listed can be typed: a provider may have models that no table knows yet.
 */
export async function chooseModel(agent: Agent, current: string): Promise<ChosenModel | undefined> {
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = vscode.l10n.t("The model");
  pick.placeholder = vscode.l10n.t("Type a part of its name, or a whole name that is not listed");
  pick.matchOnDescription = true;
  pick.ignoreFocusOut = true;
  pick.busy = true;
  let listed: Item[] = [];
  const show = () => {
    const typed = pick.value.trim();
    const isListed = !typed || listed.some((item) => item.model === typed);
    pick.items = isListed ? listed : [...listed, asTyped(typed)];
  };
  const typing = pick.onDidChangeValue(show);
  pick.show();
  void agent
    .request("agent/models", { isAll: true })
    .then((found) => {
      listed = itemsOf(found, current);
      show();
      const chosen = listed.find((item) => item.model === current);
      if (chosen && !pick.value) pick.activeItems = [chosen];
    })
    .catch(() => {
      pick.placeholder = vscode.l10n.t(
        "The list could not be read: type a name, such as openai/gpt-5",
      );
    })
    .finally(() => {
      pick.busy = false;
    });
  const chosen = await new Promise<ChosenModel | undefined>((done) => {
    pick.onDidAccept(() => {
      const [item] = pick.selectedItems;
      const model = item?.model ?? pick.value.trim();
      done(model ? { model, efforts: item?.efforts ?? [] } : undefined);
    });
    pick.onDidHide(() => done(undefined));
  });
  typing.dispose();
  pick.dispose();
  return chosen;
}

/** How much the model is to think; empty: as the settings say; undefined: nothing was chosen. */
export async function chooseEffort(
  { model, efforts }: ChosenModel,
  current: string,
): Promise<string | undefined> {
  const items = ["", ...efforts].map((effort) => ({
    label: `${effort === current ? "$(check) " : ""}${effort || vscode.l10n.t("As the settings say")}`,
    effort,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("How much {0} thinks before it answers", model),
    placeHolder: vscode.l10n.t("More takes longer and costs more"),
  });
  return picked?.effort;
}

function asTyped(name: string): Item {
  return {
    label: name,
    description: vscode.l10n.t("as you typed it"),
    alwaysShow: true,
    model: name,
  };
}

const MAKERS = ["anthropic", "openai", "gemini"];

/** The rows, first those that can be used at once; models that call no tools are left out. */
function itemsOf({ models, providers }: ModelsResult, current: string): Item[] {
  const ready = new Set(providers.filter((one) => one.isReady).map((one) => one.provider));
  const able = models.filter((row) => row.hasTools !== false);
  const others = able.filter((row) => !ready.has(providerOf(row)));
  others.sort((one, other) => rank(one) - rank(other));
  return [
    ...group(
      vscode.l10n.t("Ready to use"),
      able.filter((row) => ready.has(providerOf(row))),
      current,
    ),
    ...group(vscode.l10n.t("Needs a key or a sign-in"), others, current),
  ];
}

function providerOf({ model }: ModelRow): string {
  return model.split("/")[0] ?? "";
}

/** Makers of models before those who only serve them. */
function rank(row: ModelRow): number {
  const place = MAKERS.indexOf(providerOf(row));
  return place < 0 ? MAKERS.length : place;
}

function group(label: string, rows: readonly ModelRow[], current: string): Item[] {
  if (!rows.length) return [];
  const items = rows.map((row) => ({
    label: row.model === current ? `$(check) ${row.model}` : row.model,
    description: factsOf(row),
    model: row.model,
    efforts: row.efforts ?? [],
  }));
  return [{ label, kind: vscode.QuickPickItemKind.Separator }, ...items];
}

/** `200k · $3/$15 · images · effort low, medium, high`. */
function factsOf(row: ModelRow): string {
  const facts = [
    row.windowTokens ? count(row.windowTokens) : "",
    prices(row),
    row.takesImages ? vscode.l10n.t("images") : "",
    row.efforts?.length ? vscode.l10n.t("effort {0}", row.efforts.join(", ")) : "",
  ];
  return facts.filter(Boolean).join(" · ");
}
