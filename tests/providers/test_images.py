"""Images as providers get them, over real HTTP, and what is made of a refusal."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from agent_ls.domain.calls import ErrorKind, ToolCall
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.model_io import ModelRequest
from agent_ls.domain.pictures import MediaType, Picture
from agent_ls.pictures.reading import kind_of
from agent_ls.providers.chat_request import chat_messages, mark_for_cache
from agent_ls.providers.dialects import Dialect, adapted, dialect_of
from agent_ls.providers.failures import Symptom, classify
from tests.providers.conftest import Asking, request
from tests.support import dialects
from tests.support.dialects import Said
from tests.support.faulty import Play, end, error, faulty, head, said, sends, whole
from tests.support.images import data_url, encoded, image

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHOT, CHART = image(size=(800, 600)), image("JPEG", (40, 30))
MOVED = image("GIF")


def picture(data: bytes, name: str, kind: MediaType = "image/png") -> Picture:
    digest = hashlib.sha256(data).hexdigest()
    width, height = (800, 600) if data is SHOT else (40, 30) if data is CHART else (8, 6)
    return Picture(
        digest=digest,
        media_type=kind,
        width=width,
        height=height,
        size_bytes=len(data),
        name=name,
    )


ONE = picture(SHOT, "shot.png")
TWO = picture(CHART, "chart.jpg", "image/jpeg")
GIF = picture(MOVED, "moved.gif", "image/gif")
CALL = ToolCall(id="cal_1", provider_id="call_1", tool="read_file", arguments_json="{}")
OF_RESULT = "(Images in the result of read_file; not the user's words.)"
OTHER = ToolCall(id="cal_2", provider_id="call_2", tool="list_dir", arguments_json="{}")


def with_images(*messages: Message, **fields: Any) -> ModelRequest:
    """Return a request that has the bytes of its images, as the loop makes it."""
    bytes_of = {hashlib.sha256(one).hexdigest(): encoded(one) for one in (SHOT, CHART, MOVED)}
    return request(*messages, **fields).model_copy(update={"images": bytes_of})


def talk(failed: ErrorKind | None = None) -> tuple[Message, ...]:
    """Return a prompt with an image, and an answer of two calls of which one shows an image."""
    return (
        UserMessage(text="What is wrong in [image shot.png 800x600]?", images=(ONE,)),
        AssistantMessage(calls=(CALL, OTHER)),
        ToolMessage(
            call_id=CALL.id,
            provider_id=CALL.provider_id,
            tool=CALL.tool,
            text="The chart.",
            images=(TWO,),
            error=failed,
        ),
        ToolMessage(call_id=OTHER.id, provider_id=OTHER.provider_id, tool=OTHER.tool, text="a.py"),
    )


async def sent(asking: Asking, asked: ModelRequest, answer: Play) -> Any:
    async with faulty(0, (answer,)) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        await asking.ask(asked)
    return endpoint.requests[0]


async def test_an_openai_like_endpoint_gets_images_in_users_messages(asking: Asking) -> None:
    async with faulty(0, ()) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        await asking.ask(with_images(*talk(), model="openai/anything"))
    _, prompt, answer, *rest = endpoint.requests[0]["messages"]
    assert prompt["content"] == [
        {"type": "text", "text": "What is wrong in [image shot.png 800x600]?"},
        {"type": "image_url", "image_url": {"url": data_url(SHOT)}},
    ]
    assert len(answer["tool_calls"]) == 2
    # All results stand right behind their calls, and their images behind all of them.
    assert [(one["role"], one["content"]) for one in rest] == [
        ("tool", "The chart."),
        ("tool", "a.py"),
        (
            "user",
            [
                {
                    "type": "text",
                    "text": "(Images in the result of read_file; not the user's words.)",
                },
                {"type": "text", "text": "[image chart.jpg 40x30]"},
                {"type": "image_url", "image_url": {"url": data_url(CHART, "image/jpeg")}},
            ],
        ),
    ]


@pytest.mark.parametrize("failed", [None, ErrorKind.RUNTIME])
async def test_claude_gets_them_in_prompts_and_results(
    asking: Asking, failed: ErrorKind | None
) -> None:
    asked = with_images(*talk(failed), model="anthropic/claude-sonnet-4-5")
    body = await sent(asking, asked, dialects.anthropic(Said(text="Fine.")))
    prompt, _, results = body["messages"]
    shot = {"type": "base64", "media_type": "image/png", "data": encoded(SHOT)}
    words, shown = prompt["content"]
    assert words["text"] == "What is wrong in [image shot.png 800x600]?"
    assert (shown["type"], shown["source"]) == ("image", shot)
    first, second = results["content"]
    chart = {"type": "base64", "media_type": "image/jpeg", "data": encoded(CHART)}
    assert first["content"] == [
        {"type": "text", "text": "The chart."},
        {"type": "text", "text": "[image chart.jpg 40x30]"},
        {"type": "image", "source": chart},
    ]
    # A result that is marked as an error may hold text alone.
    assert "is_error" not in first
    assert second["content"] == "a.py"


@pytest.mark.parametrize(
    "model, answer, place",
    [
        ("gemini/gemini-2.5-pro", dialects.gemini, "inline_data"),
        ("openai/responses/gpt-5", dialects.responses, "input_image"),
        ("ollama_chat/qwen3", dialects.ollama, "images"),
    ],
)
async def test_what_goes_through_litellm_has_its_images(
    patient: Asking, model: str, answer: Any, place: str
) -> None:
    body = json.dumps(
        await sent(patient, with_images(*talk(), model=model), answer(Said(text="Fine.")))
    )
    assert place in body
    assert encoded(SHOT) in body
    assert encoded(CHART) in body


async def test_where_no_user_may_speak_behind_a_tool_something_stands_between() -> None:
    mistral = dialect_of("mistral", "https://api.mistral.ai/v1", "mistral-medium-latest")
    talked = (*talk(), UserMessage(text="Remember.", origin="slot"))
    found = chat_messages(with_images(*talked, system=""), mistral)
    assert [one["role"] for one in found] == [
        *("user", "assistant", "tool", "tool", "assistant", "user", "user"),
    ]
    strict = mistral.model_copy(update={"alternates": True})
    *_, bridge, last = chat_messages(with_images(*talked, system=""), strict)
    assert (bridge["role"], last["role"]) == ("assistant", "user")
    assert [one["type"] for one in last["content"]] == ["text", "text", "image_url", "text"]  # type: ignore[union-attr]


async def test_a_text_carries_the_cache_marker_and_images_do_not() -> None:
    marked = mark_for_cache(chat_messages(with_images(*talk()), Dialect()))
    text, name, shown = marked[-1]["content"]  # type: ignore[misc]
    assert "cache_control" in name
    assert "cache_control" not in {**text, **shown}


async def test_a_format_that_an_endpoint_does_not_take_becomes_png() -> None:
    seen = UserMessage(text="See.", images=(GIF, TWO))
    for dialect, kinds in (
        (dialect_of("openai", "", "gpt-4.1"), ["image/gif", "image/jpeg"]),
        (dialect_of("xai", "", "grok-4"), ["image/png", "image/jpeg"]),
        (dialect_of("openrouter", "", "google/gemini-3-pro"), ["image/png", "image/jpeg"]),
    ):
        (message,) = chat_messages(with_images(seen, system=""), dialect)
        urls = [
            one["image_url"]["url"]
            for one in message["content"]  # type: ignore[union-attr]
            if one["type"] == "image_url"
        ]
        assert [one.partition(";")[0].removeprefix("data:") for one in urls] == kinds
    assert kind_of(MOVED) == "image/gif"


async def test_a_server_that_cannot_read_a_format_gets_another(asking: Asking) -> None:
    refusal = sends(whole(400, error("Failed to load image or audio file")))
    async with faulty(0, (refusal,)) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        asked = with_images(UserMessage(text="See.", images=(GIF,)), model="openai/llava")
        await asking.ask(asked)
    kinds = [
        "image/gif" if "data:image/gif" in json.dumps(one) else "image/png"
        for one in endpoint.requests
    ]
    assert kinds == ["image/gif", "image/png"]


N, B = ProviderFailure.NO_IMAGES, ProviderFailure.BAD_IMAGE
REFUSED: dict[str, tuple[int, str, ProviderFailure]] = {
    "openai": (400, "Invalid content type. image_url is only supported by certain models.", N),
    "deepseek": (
        400,
        "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant "
        "`image_url`, expected `text` at line 1 column 679289",
        N,
    ),
    "openrouter": (404, "No endpoints found that support image input", N),
    "ollama cloud": (400, "this model does not support image input (ref: b8bd630e)", N),
    "ollama": (
        500,
        "Failed to create new sequence: this model is missing data required for image input",
        N,
    ),
    "llama.cpp": (
        500,
        "image input is not supported - hint: if this is unexpected, you may need to provide the "
        "mmproj",
        N,
    ),
    "an older llama.cpp": (500, "image input is not supported by this server", N),
    "vllm": (400, "At most 0 image(s) may be provided in one prompt.", N),
    "vllm of a text model": (400, "Qwen/Qwen3-8B is not a multimodal model", N),
    "lm studio": (400, "Model does not support images. Please use a model that does.", N),
    "mlx": (400, "Only 'text' content type is supported.", N),
    "dashscope": (400, "Unexpected item type in content.", N),
    "volcengine": (400, "Model do not support image input.", N),
    "groq": (400, "'messages.1' : for 'role:user' content must be a string", N),
    "tinker": (422, "content.list[TextContentPart].0.type: Input should be 'text'", N),
    "claude": (400, "Could not process image", B),
    "claude, too large": (
        400,
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes",
        B,
    ),
    "claude, too wide": (
        400,
        "messages.7.content.2.image.source.base64.data: At least one of the image dimensions "
        "exceed max allowed size: 8000 pixels",
        B,
    ),
    "claude, another format": (
        400,
        "The image was specified using the image/jpeg media type, but the image appears to be a "
        "image/png image",
        B,
    ),
    "gpt": (400, "The image data you provided does not represent a valid image.", B),
    "gemini": (400, "Unable to process input image. Please retry", B),
    "a count": (400, "Too many images in request: 6 > 5", B),
    "vllm, a count": (400, "At most 1 image(s) may be provided in one prompt.", B),
}


async def test_a_refusal_of_images_is_known_by_its_words_where_images_were_sent() -> None:
    for name, (status, words, failure) in REFUSED.items():
        symptom = Symptom(words, "BadRequestError invalid_request_error", status, has_images=True)
        assert classify(symptom) is failure, name
        plain = classify(Symptom(words, status=status))
        assert plain not in (N, B), name


@pytest.mark.parametrize(
    "words, failure",
    [
        ("max_tokens is too large", ProviderFailure.BAD_REQUEST),
        ("Rate limit reached for requests", ProviderFailure.RATE_LIMITED),
        ("maximum context length is 8192 tokens", ProviderFailure.CONTEXT_OVERFLOW),
        ("request_too_large: Request exceeds the maximum size", ProviderFailure.CONTEXT_OVERFLOW),
        ("Unsupported value: 'temperature' does not support 0.2", ProviderFailure.BAD_REQUEST),
        ("does not support tools", ProviderFailure.BAD_REQUEST),
    ],
)
async def test_other_refusals_stay_what_they_are_beside_images(
    words: str, failure: ProviderFailure
) -> None:
    status = 429 if failure is ProviderFailure.RATE_LIMITED else 400
    assert classify(Symptom(words, status=status, has_images=True)) is failure


TOO_LARGE = [
    ("Request exceeds the maximum size", True, B),
    ("<html><title>413 Request Entity Too Large</title></html>", True, B),
    ("", True, B),
    ("Request exceeds the maximum size", False, ProviderFailure.CONTEXT_OVERFLOW),
    (
        "Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000",
        True,
        ProviderFailure.CONTEXT_OVERFLOW,
    ),
    ("prompt is too long: 210000 tokens > 200000 maximum", True, ProviderFailure.CONTEXT_OVERFLOW),
]


@pytest.mark.parametrize("words, has_images, failure", TOO_LARGE)
async def test_a_request_of_too_many_bytes_is_about_its_images_if_there_are_any(
    words: str, has_images: bool, failure: ProviderFailure
) -> None:
    symptom = Symptom(words, "request_too_large", 413, has_images=has_images)
    assert classify(symptom) is failure


@pytest.mark.parametrize("failure, name", [(N, "openai"), (B, "claude")])
async def test_a_refusal_says_what_it_is_about(
    asking: Asking, failure: ProviderFailure, name: str
) -> None:
    status, words, _ = REFUSED[name]
    async with faulty(0, (sends(whole(status, error(words))),)) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        with pytest.raises(ProviderError) as refused:
            await asking.ask(with_images(*talk(), model=f"openai/{name}"))
    assert refused.value.failure is failure
    assert not refused.value.is_retryable
    assert words in refused.value.message


async def test_an_adapted_format_is_not_tried_twice() -> None:
    plain = Dialect()
    once = adapted(plain, frozenset(), "Unsupported MIME type: image/webp")
    assert once is not None
    assert once.image_types == {"image/png", "image/jpeg"}
    assert adapted(once, frozenset(), "Unsupported MIME type: image/webp") is None


@pytest.mark.parametrize(
    "model, takes_images",
    [
        ("openai/gpt-4.1", True),
        ("anthropic/claude-sonnet-4-5", True),
        ("openai/o3-mini", False),
        # The table says nothing of these.
        ("openai/deepseek-chat", False),
        ("openai/gpt-oss-20b", False),
        ("openai/Qwen/Qwen3-Coder-30B", False),
        ("openai/qwen3-vl-8b", None),
        ("openai/kimi-k2.6", None),
        ("openai/glm-4.5v", None),
        ("openai/my-own", None),
    ],
)
async def test_which_models_take_images_is_told_with_their_facts(
    asking: Asking, model: str, takes_images: bool | None
) -> None:
    asking.use("http://127.0.0.1:9/v1")
    assert (await asking.host.facts(model)).takes_images is takes_images


async def test_images_are_no_measure_of_tokens(asking: Asking) -> None:
    uncounted = sends(head(), said("Fine."), end(usage={}))
    async with faulty(0, (uncounted,)) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        events = await asking.ask(with_images(*talk(), model="openai/anything"))
    assert events[-1].usage.input_tokens < 500  # type: ignore[union-attr]
