// Asks a person what only a person can answer.
import { useEffect, useState } from "preact/hooks";
import type { QuestionAsked } from "../wire";
import { Markdown } from "./answer";
import { usePost } from "./context";
import { Icon } from "./icons";
import type { Failure } from "./store";

export function Question({
  asked,
  failure,
}: {
  asked: QuestionAsked;
  failure: Failure | undefined;
}) {
  const post = usePost();
  const [text, setText] = useState("");
  const [isSent, setSent] = useState(false);
  useEffect(() => setSent(false), [failure]);
  const answer = (words: string) => {
    setSent(true);
    post({ type: "answer", questionId: asked.questionId, text: words });
  };
  return (
    <section class="card question" aria-label="The agent asks">
      <header>
        <Icon name="question" />
        <div class="asking">
          <Markdown text={asked.text} />
        </div>
      </header>
      {failure && (
        <p class="problem" role="alert">
          {failure.problem}
        </p>
      )}
      {asked.options.length > 0 && (
        <div class="buttons choices">
          {asked.options.map((option) => (
            <button
              key={option}
              type="button"
              class="secondary"
              disabled={isSent}
              onClick={() => answer(option)}
            >
              {option}
            </button>
          ))}
        </div>
      )}
      <form
        class="rejection"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) answer(text.trim());
        }}
      >
        <input
          type="text"
          value={text}
          aria-label="Your answer"
          placeholder={asked.options.length ? "Or in your own words" : "Your answer"}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={isSent || !text.trim()}>
          Answer
        </button>
      </form>
    </section>
  );
}
