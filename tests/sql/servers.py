"""Starts PostgreSQL and MariaDB for tests, in a folder of their own, and stops them.

Neither runs as root: started by root they become the users of their Debian packages.
"""

import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import psycopg2
import pymysql


def _as_user(name):
    """The words that run a command as this user, if we are root."""
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam(name)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _own(path, name):
    if os.geteuid() == 0:
        shutil.chown(path, name)


class Servers:
    """Both servers, reachable through sockets in a temporary folder."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bouncer-sql-"))
        self.folder.chmod(0o711)
        self.mariadb = None
        self.postgres_tools = max(glob.glob("/usr/lib/postgresql/*/bin"))

    def __enter__(self):
        try:
            self._start_postgres()
            self._start_mariadb()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if (self.folder / "postgres/data/postmaster.pid").exists():
            self._postgres("pg_ctl", "-D", self.folder / "postgres/data", "-m", "immediate", "stop")
        if self.mariadb is not None:
            self.mariadb.send_signal(signal.SIGKILL)
            self.mariadb.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _postgres(self, tool, *arguments):
        command = [*_as_user("postgres"), f"{self.postgres_tools}/{tool}", *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def _start_postgres(self):
        home = self.folder / "postgres"
        home.mkdir()
        _own(home, "postgres")
        self._postgres("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D", home / "data")
        options = f"-F -c listen_addresses= -c unix_socket_directories={home}"
        self._postgres("pg_ctl", "-w", "-D", home / "data", "-o", options, "-l", home / "log", "start")

    def _start_mariadb(self):
        home = self.folder / "mariadb"
        home.mkdir()
        _own(home, "mysql")
        data = f"--datadir={home}/data"
        subprocess.run(
            [*_as_user("mysql"), "mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
        )
        self.mariadb = subprocess.Popen(
            [*_as_user("mysql"), "mariadbd", "--no-defaults", data, f"--socket={home}/socket", f"--pid-file={home}/pid",
             "--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--character-set-server=utf8mb4", f"--log-error={home}/log"],
            cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for _ in range(300):
            try:
                self.connect_mysql().close()
                return
            except pymysql.err.OperationalError:
                time.sleep(0.1)
        raise RuntimeError("MariaDB did not start: " + (home / "log").read_text()[-500:])

    def connect_postgres(self):
        """A connection that commits each query."""
        connection = psycopg2.connect(host=str(self.folder / "postgres"), user="postgres", dbname="postgres")
        connection.autocommit = True
        return connection

    def connect_mysql(self, database=None):
        """A connection that runs several statements at once, as some servers' libraries do."""
        return pymysql.connect(
            unix_socket=str(self.folder / "mariadb/socket"), user="root", database=database, charset="utf8mb4",
            autocommit=True, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS,
        )
