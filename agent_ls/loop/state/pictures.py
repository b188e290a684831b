"""Puts words in the place of images that a model does not get. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent_ls.domain.messages import AssistantMessage, Message


def all_in_words(messages: Sequence[Message], why: str) -> tuple[Message, ...]:
    """Return the messages with words in the place of every image."""
    return tuple(in_words(one, why) for one in messages)


def in_words(message: Message, why: str, digests: Collection[str] | None = None) -> Message:
    """Return the message with words in the place of its images; None: of all of them."""
    if isinstance(message, AssistantMessage) or not message.images:
        return message
    gone = [one for one in message.images if digests is None or one.digest in digests]
    text = message.text
    for image in gone:
        told = image.words()
        if told in text:
            text = text.replace(told, image.words(why), 1)
        else:
            text = f"{text}\n{image.words(why)}".lstrip("\n")
    kept = tuple(one for one in message.images if one not in gone)
    return message.model_copy(update={"text": text, "images": kept})
