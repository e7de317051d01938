"""Embed room: the provider that the settings ask for, or the reason why there is none; loads nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.clock import Clock
from core.embed.provider import NoProvider, Provider, fingerprint_of
from core.settings.model import OwnEmbedding, Settings

Gate = Callable[[str, str], bool]
"""Whether texts may go to (endpoint, model) now; asked before every request."""


def provider_from(
    settings: Settings, environ: Mapping[str, str], *, allowed: Gate, clock: Clock
) -> Provider | NoProvider:
    """Make the provider of ``[embedding]``; cheap, and never raises over what the settings say.

    ``allowed`` is what stands between the memory and an endpoint:
    :meth:`core.embed.consent.ConsentStore.allows`.
    """
    wanted = settings.own_embedding
    if wanted.provider == "local":
        return _local()
    if wanted.provider == "api":
        return _api(wanted, environ, allowed, clock)
    return NoProvider(
        "no embedding provider is set", "Set embedding.provider to local (on this machine) or api."
    )


def agent_fingerprint(settings: Settings) -> str | None:
    """The fingerprint of the agent's own vectors as its settings have it; None: it searches text only.

    A provider with this fingerprint can embed queries for the agent's vectors.
    """
    agent = settings.embedding
    return fingerprint_of(agent.provider, agent.model, agent.dimensions) if agent.model else None


def _local() -> Provider | NoProvider:
    from core.embed.local import HOW_TO_ADD, LocalProvider, installed

    if not installed():
        return NoProvider("the extra `local` (wordllama) is not installed", HOW_TO_ADD)
    return LocalProvider()


def _api(
    wanted: OwnEmbedding, environ: Mapping[str, str], allowed: Gate, clock: Clock
) -> Provider | NoProvider:
    for name, value in (("base_url", wanted.base_url), ("model", wanted.model)):
        if not (value and value.strip()):
            return NoProvider(f"embedding.{name} is not set", "The provider api needs base_url and model.")
    trouble = _key_trouble(wanted.key_env, environ)
    if trouble is not None:
        return trouble
    from core.embed.api import ApiProvider
    from core.embed.exchange import origin_of

    base_url, model = (wanted.base_url or "").strip(), (wanted.model or "").strip()
    try:
        endpoint = origin_of(base_url)
    except ValueError as error:
        return NoProvider(
            f"embedding.base_url {error}",
            "It looks like https://api.openai.com/v1 or http://127.0.0.1:11434/v1.",
        )
    return ApiProvider(
        base_url=base_url,
        model=model,
        dimensions=wanted.dimensions,
        key_env=wanted.key_env or "",
        environ=environ,
        allowed=lambda: allowed(endpoint, model),
        clock=clock,
        shorten=wanted.shorten,
        max_input_bytes=wanted.max_input_bytes,
        timeout=wanted.timeout_secs,
    )


def _key_trouble(key_env: str | None, environ: Mapping[str, str]) -> NoProvider | None:
    if not key_env:
        return None
    key = environ.get(key_env, "").strip()
    if not key:
        return NoProvider(
            f"the environment variable {key_env} is not set",
            "Set it to the endpoint's key, or unset embedding.key_env if it needs none.",
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        # A header could not carry it, and the refusal of the HTTP library would print it.
        return NoProvider(
            f"what {key_env} holds is not a key: it has spaces, or characters other than ASCII",
            "Set it again, without quotes or line breaks.",
        )
    return None
