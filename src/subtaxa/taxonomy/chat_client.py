"""A client for language models behind an OpenAI-compatible server.

The server's answers are not trusted: redirects are not followed, sizes are limited, and nothing in them is executed.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import os
import queue
import threading
import time
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, NamedTuple, TypeGuard
from urllib.error import URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

from subtaxa.errors import InputError
from subtaxa.runtime.version import __version__

KEY_VARIABLE = "OPENAI_API_KEY"
# Seconds without any data from the server, which may have to load the model first.
TIMEOUT = 300.0
# Seconds for a whole answer, however steadily its bytes arrive.
DEADLINE = 900.0
# A count of tokens from this on is not believed.
MOST_TOKENS = 2**40
# How often a question is sent while the server is busy or fails.
ATTEMPTS = 4
# Seconds before the second attempt. The pause doubles with each further attempt.
PAUSE = 1.0
# The longest pause in seconds, even if the server asks for a longer one.
LONGEST_PAUSE = 60.0
# The largest answer that is read, in bytes.
LARGEST = 2**20


class Reply(NamedTuple):
    """What a server sent back."""

    status: int
    body: bytes
    retry_after: str
    location: str


class _NoRedirects(HTTPErrorProcessor):
    """Returns every answer unchanged, so that no redirect takes texts and key to another host."""

    def http_response(self, request: Request, response: Any) -> Any:
        return response

    https_response = http_response


class ChatServer:
    """One model of one server, with a count of the tokens used."""

    def __init__(self, endpoint: str, model: str, key_variable: str | None = None) -> None:
        parts = _parts(endpoint)
        path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
        self.address = f"{parts.scheme}://{parts.netloc}{path}/chat/completions"
        if not model.strip() or not model.isprintable():
            raise InputError(f"--model is {model!r}: give the name that the server uses for the model")
        self.model, self.tokens = model, (0, 0)
        self.uncounted = False
        self.extra: dict[str, Any] = {"temperature": 0}
        self.key, is_local = _key(key_variable), _is_local(str(parts.hostname))
        if self.key and parts.scheme == "http" and not is_local:
            raise InputError(
                f"the key would go to {parts.hostname!r} unencrypted: give an https address, or send no key with "
                "--api-key-env ''"
            )
        # Requests to this machine do not go through a proxy.
        self.opener = build_opener(_NoRedirects, *([ProxyHandler({})] if is_local else []))

    def ask(self, question: str) -> str:
        """The answer of the model, with the key masked. It is empty if the model gave none."""
        reply = self._send_with_retries(question)
        if reply.status == 400 and b"temperature" in reply.body and self.extra:  # Some models accept no temperature.
            self.extra = {}
            reply = self._send_with_retries(question)
        if not 200 <= reply.status < 300:
            raise self._failure(reply)
        try:
            answer = json.loads(reply.body)
            content = answer["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise InputError(
                f"{self.address} does not answer like an OpenAI-compatible server: check --endpoint"
            ) from error
        self._count(answer.get("usage"))
        return self._without_key(content) if isinstance(content, str) else ""

    @property
    def token_summary(self) -> str:
        """The number of tokens used so far, as text."""
        sent, received = self.tokens
        return "unknown" if self.uncounted else f"{sent:,} sent, {received:,} received"

    def _send_with_retries(self, question: str) -> Reply:
        """The reply to a question. It is sent again a few times if the server is busy or fails."""
        body = {"model": self.model, "messages": [{"role": "user", "content": question}], **self.extra}
        for attempt in itertools.count(1):
            reply = self._send(json.dumps(body).encode())
            if attempt == ATTEMPTS or not (reply.status == 429 or reply.status >= 500):
                break
            asked = reply.retry_after
            pause = float(asked) if asked.isascii() and asked.isdigit() else PAUSE * 2 ** (attempt - 1)
            time.sleep(min(pause, LONGEST_PAUSE))
        return reply

    def _send(self, body: bytes) -> Reply:
        headers = {"Content-Type": "application/json", "User-Agent": f"subtaxa/{__version__}"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = Request(self.address, body, headers)  # noqa: S310 - `_parts` lets only http and https pass

        def send() -> Reply:
            with self.opener.open(request, timeout=TIMEOUT) as reply:
                headers = reply.headers
                retry_after, location = headers.get("Retry-After", ""), headers.get("Location", "")
                return Reply(reply.status, reply.read(LARGEST), retry_after, location)

        try:
            return _within(DEADLINE, send)
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            if isinstance(reason, TimeoutError):
                limit = min(TIMEOUT, DEADLINE) if "deadline" not in str(reason) else DEADLINE
                raise InputError(f"{self.address} did not answer within {limit:g} s: check the server") from error
            raise InputError(
                f"{self.address} cannot be reached ({reason}): start the server or check --endpoint"
            ) from error

    def _failure(self, reply: Reply) -> InputError:
        """A reply that is not an answer, as one sentence with a remedy."""
        try:
            error = json.loads(reply.body)["error"]
            words = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError, RecursionError):
            words = "no reason given"
        if 300 <= reply.status < 400:
            words, remedy = f"go to {reply.location or 'nowhere'}", "if you trust that address, give it as --endpoint"
        elif reply.status in (401, 403):
            remedy = "check the key, and --api-key-env"
        elif reply.status == 429 or reply.status >= 500:
            remedy = "repeat the command later"
        else:
            remedy = "check --endpoint and --model"
        return InputError(f"{self.address} answers {reply.status} ({self._without_key(words)[:200]}): {remedy}")

    def _without_key(self, text: str) -> str:
        return text.replace(self.key, "…") if self.key else text

    def _count(self, usage: Any) -> None:
        counts = usage if isinstance(usage, dict) else {}
        sent, received = counts.get("prompt_tokens"), counts.get("completion_tokens")
        if _is_count(sent) and _is_count(received):
            self.tokens = (self.tokens[0] + sent, self.tokens[1] + received)
        else:
            self.uncounted = True


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < MOST_TOKENS


def _within(seconds: float, call: Callable[[], Reply]) -> Reply:
    """The result of a call, or a TimeoutError. A socket's own timeout starts again with every byte that arrives."""
    done: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put(call())
        except BaseException as error:
            done.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        result = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError("the deadline has passed") from None
    if isinstance(result, BaseException):
        raise result
    return result


def _parts(endpoint: str) -> SplitResult:
    """The parts of the address that a person typed. An address that may hold a secret is not repeated in errors."""
    if any(mark in endpoint for mark in "@?#"):
        raise InputError("--endpoint holds a '@', '?' or '#': give the address alone, and the key with --api-key-env")
    try:
        parts = urlsplit(endpoint)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # The port is not a number, or an IPv6 address is incomplete.
        right = False
    if not right or not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
        raise InputError(f"--endpoint is {endpoint!r}: it must be an address such as http://localhost:8080/v1")
    return parts


def _is_local(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _key(variable: str | None) -> str:
    """The key in the environment variable that a person named, or else in the usual one.

    Errors do not repeat what was given, because it might be the key itself.
    """
    if variable == "":
        return ""
    key = os.environ.get(variable or KEY_VARIABLE, "").strip()
    if variable and not key:
        raise InputError(
            "--api-key-env names a variable that is not set: put the key into a variable and give its name"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError("the key contains spaces or other invalid characters: check the variable")
    return key
