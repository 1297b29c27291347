"""Reading requests: no head too long or without end, and no more lines than there is room for."""

import contextlib
import socket
import threading
import time

import pytest
import uvicorn

from holdtrue.server._http_parser import MOST_HEAD, bounded

MOST, SECONDS = 40, 0.6


async def echo(scope, receive, send):
    n, more = 0, True
    while more:
        message = await receive()
        n, more = n + len(message.get("body", b"")), message.get("more_body", False)
    text = str(n).encode()
    head = [(b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": text})


@pytest.fixture(scope="module", params=["c", "h11"])
def port(request):
    part, name = {"c": ("httptools", "HttpToolsProtocol"), "h11": ("h11", "H11Protocol")}[request.param]
    protocol = getattr(pytest.importorskip(f"uvicorn.protocols.http.{part}_impl"), name)
    http = bounded(protocol, MOST, SECONDS)
    server = uvicorn.Server(uvicorn.Config(
        echo, port=0, lifespan="off", log_level="critical", http=http, h11_max_incomplete_event_size=MOST_HEAD,
    ))  # fmt: skip
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(10)


def sent(port, *parts):
    """What comes back, until the other side hangs up or is quiet."""
    told = b""
    with socket.create_connection(("127.0.0.1", port), timeout=0.5) as end:
        try:
            for part in parts:
                end.sendall(part)
                time.sleep(0.02)  # a read of its own
            while piece := end.recv(4096):
                told += piece
        except (TimeoutError, ConnectionError):
            pass
    return told.decode()


def test_requests_follow_each_other_on_one_line(port):
    body = b"x" * 200_000
    post = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 200000\r\n\r\n" + body
    # The second begins in the same piece as the first one's body ends, and its head is not whole there.
    told = sent(port, post + b"GET / HTTP/1.1\r\nHo", b"st: here\r\n\r\n")
    assert told.count("HTTP/1.1 200") == 2
    assert "200000" in told


@pytest.mark.parametrize(
    "more", [[b"x: y", *[b"y" * 1000] * 40], [b"x: y\r\n" * 170] * 40], ids=["one header", "many headers"]
)
def test_a_head_without_end_is_refused(port, more):
    told = sent(port, b"GET / HTTP/1.1\r\nHost: here\r\n", *more, b"\r\n\r\n")
    assert told == "" or told.startswith("HTTP/1.1 400")  # what is sent after the refusal may cut it off


def test_a_long_head_may_be_as_long_as_the_limit(port):
    told = sent(port, b"GET / HTTP/1.1\r\nHost: here\r\nx: ", b"y" * (MOST_HEAD // 2), b"\r\n\r\n")
    assert told.startswith("HTTP/1.1 200")


def gone(end, within):
    """Whether the other side hangs up in time, and what it says."""
    end.settimeout(within)
    told = b""
    try:
        while piece := end.recv(4096):
            told += piece
    except TimeoutError:
        return False, told
    except ConnectionError:
        pass
    return True, told


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHo"], ids=["nothing", "half a head"])
def test_a_head_that_does_not_come_is_not_waited_for(port, begun):
    with socket.create_connection(("127.0.0.1", port)) as end:
        end.sendall(begun)
        ended, told = gone(end, 5 * SECONDS)
        assert ended
        assert told.startswith(b"HTTP/1.1 408")


def test_a_head_byte_by_byte_is_not_waited_for(port):
    with socket.create_connection(("127.0.0.1", port)) as end:
        began = time.monotonic()
        try:
            while time.monotonic() < began + 5 * SECONDS:
                end.sendall(b"x")
                time.sleep(SECONDS / 10)
        except ConnectionError:
            pass
        assert time.monotonic() < began + 3 * SECONDS


def test_a_second_head_that_does_not_come_is_not_waited_for(port):
    with socket.create_connection(("127.0.0.1", port)) as end:
        end.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert end.recv(4096).startswith(b"HTTP/1.1 200")
        end.sendall(b"GET / HT")
        assert gone(end, 5 * SECONDS)[0]


def test_lines_that_ask_nothing_shut_nobody_out(port):
    """Three times as many as there is room for: the longest waiting make room, and a request is answered."""
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(3 * MOST)]
    try:
        for end in held[::2]:
            with contextlib.suppress(ConnectionError):
                end.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n")
        assert sent(port, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").startswith("HTTP/1.1 200")
    finally:
        for end in held:
            end.close()
