"""From settings to a provider, or to the reason why there is none; and nothing heavy on the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.embed.api import ApiProvider
from core.embed.exchange import is_loopback, origin_of
from core.embed.factory import agent_fingerprint, provider_from
from core.embed.local import LocalProvider
from core.embed.provider import NoProvider, Provider
from core.errors import SettingsError
from core.settings import EmbeddingSettings, OwnEmbedding, Settings, load_settings, set_setting

API = OwnEmbedding(provider="api", base_url="https://api.example.com/v1", model="small", key_env="KEY_OF_IT")


def made(wanted: OwnEmbedding, environ: dict[str, str] | None = None) -> Provider | NoProvider:
    environ = {"KEY_OF_IT": "sk-abcdef"} if environ is None else environ
    return provider_from(
        Settings(own_embedding=wanted), environ, allowed=lambda endpoint, model: False, clock=lambda: 0.0
    )


def changed(**changes: Any) -> OwnEmbedding:
    values = {name: getattr(API, name) for name in OwnEmbedding.__dataclass_fields__}
    return OwnEmbedding(**(values | changes))


def test_by_default_there_is_none() -> None:
    none = made(OwnEmbedding())
    assert isinstance(none, NoProvider) and none.reason == "no embedding provider is set"


def test_local() -> None:
    provider = made(OwnEmbedding(provider="local"))
    assert isinstance(provider, LocalProvider)
    assert (provider.fingerprint, provider.endpoint) == ("local:wordllama-l2_supercat:256", "")


def test_api() -> None:
    provider = made(changed(dimensions=1536, max_input_bytes=500))
    assert isinstance(provider, ApiProvider)
    assert provider.fingerprint == "api:small:1536"
    assert (provider.endpoint, provider.max_input_bytes) == ("https://api.example.com:443", 500)


def test_an_endpoint_without_a_key_is_fine() -> None:
    assert isinstance(made(changed(key_env=None), {}), ApiProvider)


@pytest.mark.parametrize(
    ("wanted", "environ", "reason"),
    [
        (changed(base_url=None), None, "embedding.base_url is not set"),
        (changed(model=" "), None, "embedding.model is not set"),
        (API, {}, "the environment variable KEY_OF_IT is not set"),
        (API, {"KEY_OF_IT": "  "}, "the environment variable KEY_OF_IT is not set"),
        (API, {"KEY_OF_IT": "sk-abc\ndef"}, "what KEY_OF_IT holds is not a key"),
        (API, {"KEY_OF_IT": "sk-äbcdef"}, "what KEY_OF_IT holds is not a key"),
        (changed(base_url="api.example.com/v1"), None, "embedding.base_url must begin with https://"),
        (changed(base_url="ftp://api.example.com"), None, "embedding.base_url must begin with https://"),
        (changed(base_url="https://"), None, "embedding.base_url must begin with https://"),
        (changed(base_url="https://x:99999/v1"), None, "embedding.base_url is not a URL"),
        (changed(base_url="https://[::1/v1"), None, "embedding.base_url is not a URL"),
        (changed(base_url="https://me:sk-abc@x/v1"), None, "embedding.base_url must not hold a user"),
        (changed(base_url="https://x/v1?key=sk-abc"), None, "embedding.base_url must not have a ?"),
    ],
)
def test_what_is_missing_is_named_and_no_secret_with_it(
    wanted: OwnEmbedding, environ: dict[str, str] | None, reason: str
) -> None:
    none = made(wanted, environ)
    assert isinstance(none, NoProvider)
    assert none.reason.startswith(reason) and none.hint
    assert "sk-" not in none.reason + none.hint


@pytest.mark.parametrize(
    ("url", "origin", "loopback"),
    [
        ("https://API.Example.com/v1", "https://api.example.com:443", False),
        (" http://127.0.0.1:11434/v1 ", "http://127.0.0.1:11434", True),
        ("http://[::1]:8000", "http://[::1]:8000", True),
        ("http://localhost/v1", "http://localhost:80", True),
        ("http://localhost.example.com/", "http://localhost.example.com:80", False),
    ],
)
def test_the_origin_is_what_a_person_confirms(url: str, origin: str, loopback: bool) -> None:
    assert origin_of(url) == origin
    assert is_loopback(origin) is loopback


def test_the_agents_fingerprint_is_of_its_own_settings() -> None:
    assert agent_fingerprint(Settings()) is None
    agent = Settings(embedding=EmbeddingSettings(model="small", dimensions=256))
    assert agent_fingerprint(agent) == "api:small:256"


def test_settings_are_read_from_memdecks_own_file(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[embedding]\nprovider = "api"\nkey_env = "MY_KEY"\ndimensions = 256\n', encoding="utf-8"
    )
    environ = {"HOME": str(tmp_path), "MEMDECK_CONFIG": str(config)}
    settings = load_settings(environ, grok_home=None)
    assert settings.problems == ()
    assert settings.own_embedding == OwnEmbedding(provider="api", key_env="MY_KEY", dimensions=256)
    assert settings.embedding == EmbeddingSettings()
    assert settings.origin("embedding.provider").file == str(config)
    change = set_setting(settings, "embedding.provider", "local")
    assert (change.file, change.after) == (str(config), '"local"')
    with pytest.raises(SettingsError, match="must be one of none, local, api"):
        set_setting(settings, "embedding.provider", "remote")


@pytest.mark.parametrize("value", ["sk-proj-1a2b3c4d5e", "f00dfeedf00dfeed", "MY KEY", ""])
def test_a_key_in_the_place_of_its_variables_name_is_never_repeated(tmp_path: Path, value: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[embedding]\nkey_env = "{value}"\n', encoding="utf-8")
    settings = load_settings({"HOME": str(tmp_path), "MEMDECK_CONFIG": str(config)}, grok_home=None)
    (problem,) = settings.problems
    assert "must be the name of an environment variable" in problem.message
    assert settings.own_embedding.key_env is None
    assert not value or value not in str(problem)
    with pytest.raises(SettingsError) as caught:
        set_setting(settings, "embedding.key_env", value)
    assert not value or value not in str(caught.value)


def test_choosing_a_provider_loads_nothing_heavy() -> None:
    code = """
import sys
from core.embed.factory import provider_from
from core.embed.consent import ConsentStore
from core.settings import OwnEmbedding, Settings
heavy = ("numpy", "openai", "httpx", "httpx2", "wordllama", "tokenizers", "pydantic", "requests", "asyncio")
def loaded():
    return [name for name in heavy if name in sys.modules]
print(loaded())
for wanted in (
    OwnEmbedding(),
    OwnEmbedding(provider="local"),
    OwnEmbedding(provider="api", base_url="http://127.0.0.1:9/v1", model="m"),
):
    provider = provider_from(
        Settings(own_embedding=wanted), {}, allowed=lambda endpoint, model: True, clock=lambda: 0.0
    )
    print([name for name in loaded() if name != "asyncio"], type(provider).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "[] NoProvider", "[] LocalProvider", "[] ApiProvider"]
