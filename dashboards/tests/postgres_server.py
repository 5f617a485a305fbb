"""A PostgreSQL server for tests: a folder of its own, a socket in it and no port. It is the distribution's
(/usr/lib/postgresql). Without it the tests fail, unless ASSAY_NO_POSTGRES says why there is none."""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

_USER = "postgres"  # that the package makes; the server refuses to be root's
_SECONDS = 60
_numbers = itertools.count(1)


@contextlib.contextmanager
def running_server():
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if reason := os.environ.get("ASSAY_NO_POSTGRES", ""):
        pytest.skip(f"ASSAY_NO_POSTGRES: {reason}")
    if not programs:
        pytest.fail("no PostgreSQL: install Debian's postgresql, or set ASSAY_NO_POSTGRES=why")
    folder = Path(tempfile.mkdtemp(prefix="assay-postgres-"))
    # Ends with this process, however that ends.
    command = ["setpriv", "--pdeathsig", "INT"]
    if os.getuid() == 0:
        command += [f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"]
        user = pwd.getpwnam(_USER)
        os.chown(folder, user.pw_uid, user.pw_gid)
    try:
        with (folder / "log").open("wb") as log:
            making = [programs[-1], "-D", folder / "data", "-U", "assay", "-A", "trust", "-E", "UTF8", "--locale=C"]
            subprocess.run([*command, *making, "--no-sync"], check=True, stdout=log, stderr=log, cwd=folder)
            options = ["-c", "listen_addresses=", "-c", "fsync=off", "-k", folder]
            serving = [programs[-1].with_name("postgres"), "-D", folder / "data", *options]
            server = subprocess.Popen([*command, *serving], stdout=log, stderr=log, cwd=folder)
        try:
            url = f"postgresql://assay@/{{}}?host={folder}"
            _wait_for(server, url.format("postgres"), folder / "log")
            yield url
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(_SECONDS)
    finally:
        shutil.rmtree(folder)


def _wait_for(server, url, log):
    end = time.monotonic() + _SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                pytest.fail(f"PostgreSQL did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)


def new_database(url):
    name = f"test{next(_numbers)}"
    with psycopg.connect(url.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.format(name)
