// Takes the texts in the user's language from the page's own document, as `page.ts` has written them.
import { speak, type Texts } from "../l10n";

const given = document.getElementById("root")?.dataset.texts;
if (given) speak(JSON.parse(given) as Texts, document.documentElement.lang);
