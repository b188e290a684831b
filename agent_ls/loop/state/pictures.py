"""Puts words in the place of images that a model does not get. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent_ls.domain.messages import AssistantMessage, Message
from agent_ls.domain.pictures import Picture

MAX_SENT_BYTES = 12_000_000
"""Of a request's images: Gemini takes 20 MB in base64 with all else, Anthropic 32 MB."""
MAX_SENT = 100
"""Images in a request: so many Anthropic takes; OpenAI and Gemini take more."""
_NO_ROOM = "left out: a request takes no more images"


def within_limits(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with words in the place of the oldest images, if there are too many.

    Of all but the newest message's images at most half as many stay, so that this is seldom needed
    again: each time, the provider's cache of the conversation is lost.
    """
    images = [(at, image) for at, one in enumerate(messages) for image in _images(one)]
    if len(images) <= MAX_SENT and sum(one.size_bytes for _, one in images) <= MAX_SENT_BYTES:
        return tuple(messages)
    gone: dict[int, set[str]] = {}
    size = 0
    for number, (at, image) in enumerate(reversed(images), 1):
        part = 1 if at == images[-1][0] else 2
        size += image.size_bytes
        if gone or size > MAX_SENT_BYTES // part or number > MAX_SENT // part:
            gone.setdefault(at, set()).add(image.digest)
    return tuple(in_words(one, _NO_ROOM, gone.get(at, ())) for at, one in enumerate(messages))


def _images(message: Message) -> tuple[Picture, ...]:
    return () if isinstance(message, AssistantMessage) else message.images


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
