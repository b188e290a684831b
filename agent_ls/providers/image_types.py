"""Makes the images of a request what the endpoint takes, before the request's body is built."""

from __future__ import annotations

from agent_ls.domain.messages import AssistantMessage, Message
from agent_ls.domain.model_io import ModelRequest
from agent_ls.pictures.reading import made_png
from agent_ls.providers.dialects import Dialect


async def in_taken_types(request: ModelRequest, dialect: Dialect) -> ModelRequest:
    """Return the request with its images in formats that the endpoint takes."""
    taken = dialect.image_types
    odd = {
        image.digest
        for one in request.messages
        if not isinstance(one, AssistantMessage)
        for image in one.images
        if image.media_type not in taken
    }
    if not odd:
        return request
    made = {digest: await made_png(request.images[digest]) for digest in sorted(odd)}
    messages = tuple(_as_png(one, odd) for one in request.messages)
    return request.model_copy(update={"messages": messages, "images": {**request.images, **made}})


def _as_png(message: Message, digests: set[str]) -> Message:
    if isinstance(message, AssistantMessage) or not message.images:
        return message
    png = {"media_type": "image/png"}
    images = tuple(
        one.model_copy(update=png) if one.digest in digests else one for one in message.images
    )
    return message.model_copy(update={"images": images})
