"""Both batch writers, direct and boto3, for any endpoint."""

import ssl
from collections.abc import Callable
from functools import cache
from pathlib import Path
from socket import socket
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter, Writer
from adminview.aws.boto3_clients import CLIENT
from adminview.aws.deadline import Deadline
from adminview.aws.transport.eligibility import StaticCredentials
from adminview.aws.transport.http_client import HttpClient
from adminview.sync.fold import Write
from tests.support.e2e.certificate import write_certificate
from tests.support.fakes import TABLE, a_put
from tests.support.faulty_server import Faulty

REGION = "eu-west-1"
KEYS = StaticCredentials("access", "secret", "token")
PATIENT = (20.0, 20.0)
HASTY = (0.3, 0.3)  # for faults that only a timeout ends


def make_http_client(url: str, timeouts: tuple[float, float] = PATIENT) -> HttpClient:
    return HttpClient(url, REGION, KEYS, timeouts)


@cache
def session() -> boto3.Session:
    """Return one session: loading botocore's service models takes longer than any test here."""
    return boto3.Session()


def client(url: str, timeouts: tuple[float, float] = PATIENT) -> Any:
    connect, read = timeouts
    return session().client(
        "dynamodb",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="access",
        aws_secret_access_key="secret",
        aws_session_token="token",
        config=CLIENT.merge(Config(connect_timeout=connect, read_timeout=read, proxies={})),
    )


def both(url: str, timeouts: tuple[float, float] = PATIENT) -> list[Writer]:
    return [
        Boto3BatchWriter(client(url, timeouts)),
        HttpBatchWriter(make_http_client(url, timeouts)),
    ]


def writes(count: int = 4) -> list[Write]:
    writes = [a_put(n) for n in range(count)]
    writes[-1].row = None
    return writes


def error_of(writer: Writer) -> Any:
    (result,) = writer.send(TABLE, [writes()], Deadline.after(60))
    assert isinstance(result, (ClientError, BotoCoreError))
    return result


def tls(folder: Path) -> Callable[[socket], socket]:
    """Create a certificate, and return a function that wraps a socket in TLS with it."""
    certificate, key = write_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return lambda plain: context.wrap_socket(plain, server_side=True)


def over_tls(folder: Path) -> Faulty:
    return Faulty(wrap=tls(folder), scheme="https")
