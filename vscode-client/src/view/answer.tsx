// What the model says: Markdown that grows at its end, and its thinking behind a line.
import { memo } from "preact/compat";
import { useRef } from "preact/hooks";
import type { AnswerItem } from "../fold/state";
import { t } from "../l10n";
import { usePost } from "./context";
import { Disclosure } from "./disclosure";
import { Icon } from "./icons";
import { NOTHING, render } from "./markdown";
import { nameOf } from "./rows";

/** Rendered Markdown; links and copy buttons are answered by the extension. */
export function Markdown({ text }: { text: string }) {
  const post = usePost();
  const rendered = useRef(NOTHING);
  rendered.current = render(text, rendered.current);
  const act = (event: Event) => {
    const target = event.target as Element;
    const link = target.closest("a[data-href]");
    if (link) {
      post({ type: "link", href: link.getAttribute("data-href") ?? "" });
      return;
    }
    const button = target.closest("button.copy");
    if (!button) return;
    post({ type: "copy", text: button.closest(".code")?.querySelector("code")?.textContent ?? "" });
    button.textContent = t("Copied");
  };
  return (
    // It listens for the links and buttons within, which come as HTML.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      class="markdown"
      onClick={act}
      onKeyDown={(event) => {
        const isLink = (event.target as Element).matches("a[data-href]");
        if (isLink && event.key === "Enter") act(event);
      }}
    >
      {rendered.current.blocks.map((html, index) => (
        <Block key={index} html={html} />
      ))}
    </div>
  );
}

// An unchanged block is left alone, so that a selection in it survives what streams in below.
const Block = memo(({ html }: { html: string }) => (
  // It comes sanitised out of `render`.
  <div class="block" dangerouslySetInnerHTML={{ __html: html }} />
));

export const Answer = memo(({ item }: { item: AnswerItem }) => {
  const thought = item.keptThought + item.thought;
  const text = item.kept + item.text;
  return (
    <div class="answer">
      {thought.trim() && (
        <Thought name={nameOf(item)} text={thought} isLive={item.isStreaming && !text} />
      )}
      {text.trim() && <Markdown text={text} />}
    </div>
  );
});

function Thought({ name, text, isLive }: { name: string; text: string; isLive: boolean }) {
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  return (
    <Disclosure
      class="thought"
      name={name}
      summary={
        <>
          <Icon name="lightbulb" />
          <span class="verb">{isLive ? t("Thinking") : t("Thought")}</span>
          {isLive && <span class="what fading">{last}</span>}
        </>
      }
    >
      {() => <Markdown text={text} />}
    </Disclosure>
  );
}
