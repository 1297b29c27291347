"""`holdtrue keys`: who may ask a service."""

from dataclasses import asdict

import click

from holdtrue.cli._console import print_json, say
from holdtrue.cli._options import json_option
from holdtrue.server import ROLES, add_key, read_keys, revoke_key


@click.group("keys")
def command() -> None:
    """Make and revoke the keys of those who may ask a service.

    FILE holds names, roles and hashes; the keys themselves are shown once and kept nowhere. Each of these takes
    --json.
    """


@command.command("add")
@click.argument("file", metavar="FILE")
@click.option("--name", required=True, metavar="NAME", help="Whose key it is; appears in the service's log.")
@click.option("--role", required=True, type=click.Choice(ROLES), help="What it may do.")
@json_option
def add(file: str, name: str, role: str, as_json: bool) -> None:
    """Make a key, and print it: the only time that it is seen."""
    token = add_key(file, name, role)
    say(f"Keep this key: {file} has only its hash. Send it as `Authorization: Bearer KEY`.")
    if as_json:
        print_json({"name": name, "role": role, "key": token})
    else:
        click.echo(token)


@command.command("list")
@click.argument("file", metavar="FILE")
@json_option
def show(file: str, as_json: bool) -> None:
    """List names, roles and when each key was made."""
    keys = read_keys(file)
    if as_json:
        print_json([{k: v for k, v in asdict(key).items() if k != "sha256"} for key in keys])
        return
    for key in keys:
        click.echo(f"{key.role:<10} {key.made}  {key.name}")


@command.command("revoke")
@click.argument("file", metavar="FILE")
@click.argument("name", metavar="NAME")
@json_option
def revoke(file: str, name: str, as_json: bool) -> None:
    """Take a key back; a service that runs heeds it at once."""
    revoke_key(file, name)
    if as_json:
        print_json({"revoked": name})
    else:
        say(f"{name} is revoked.")
