"""What the arguments of clouds, clusters, databases and backups run or overwrite: see `programs`."""

from __future__ import annotations

from dogu.policy.commands.effects import Effect, Row

_R, _W, _N = Effect.RUNS, Effect.WRITES, Effect.REACHES


def _under(programs: str, subcommands: str, effect: Effect, reason: str) -> tuple[Row, ...]:
    """Make a row for each of the subcommands."""
    return tuple(Row(programs, "", effect, reason, each) for each in subcommands.split())


SERVICE_ROWS: tuple[Row, ...] = (
    # clusters and machines
    *_under("helm", "delete del pull fetch package create test secrets", _R, "changes a cluster"),
    Row("helm", "--output-dir -d --destination --kubeconfig --repository-config --registry-config", _W, "writes files"),
    Row("helm", "", _N, "changes settings", "repo add"),
    Row("helm", "", _N, "changes settings", "registry login"),
    Row("kustomize", "-o --output", _W, "writes a file"),
    *_under("kustomize", "edit create fn localize", _R, "rewrites files"),
    *_under("terraform tofu", "login logout refresh test untaint", _R, "changes machines"),
    Row("terraform tofu", "", _W, "writes files", "providers mirror"),
    Row(
        "terraform tofu",
        "-from-module -generate-config-out -plugin-dir",
        _W,
        "works elsewhere, or writes a file",
        is_exact=True,
    ),
    *_under("terragrunt", "exec run hclfmt", _R, "runs a program"),
    Row("terragrunt", "--terragrunt-tfpath --tf-path --terragrunt-config --config", _R, "names a program to run"),
    Row("packer", "", _R, "installs or runs programs", "init"),
    *_under("pulumi", "plugin new import refresh cancel", _R, "changes machines"),
    Row("pulumi", "", _R, "changes machines", "stack rm"),
    Row("pulumi", "-C --cwd", _R, "works in another project"),
    *_under("cdk sam serverless sls amplify", "deploy destroy bootstrap remove invoke local", _R, "changes machines"),
    Row("cdk", "-a --app", _R, "names a program to run"),
    Row("sam", "--hook-name", _R, "runs a program"),
    Row(
        "ansible-inventory ansible-doc",
        "-i --inventory -M --module-path --output --playbook-dir",
        _R,
        "loads code or writes a file",
    ),
    Row("ansible-config", "", _W, "writes a file", "init"),
    # databases
    Row(
        "mysql mysqldump mysqladmin mariadb",
        "--defaults-file --defaults-extra-file --login-path",
        _R,
        "takes its settings from elsewhere",
    ),
    *_under("mysqladmin", "shutdown drop create kill password reload refresh", _R, "changes the server"),
    Row(
        "pg_restore pg_basebackup pg_ctl initdb createdb dropdb createuser dropuser pgbench vacuumdb",
        "",
        _R,
        "changes the server",
    ),
    Row("psql", "-v --set --variable", _R, "names a program to run"),
    Row("mongodump mongorestore mongoexport mongoimport mongofiles", "", _W, "writes files"),
    *_under(
        "redis-cli",
        "evalsha fcall migrate slaveof replicaof bgsave bgrewriteaof swapdb failover cluster acl",
        _R,
        "changes the server",
    ),
    Row("duckdb", "", _R, "its commands run programs and write files"),
    Row("clickhouse-client clickhouse cqlsh sqlplus influx", "", _R, "its commands run programs and write files"),
    # copies
    Row("rclone restic borg duplicity", "", _N, "copies files to or from another machine"),
    Row(
        "rclone restic borg",
        "--password-command --metadata-mapper --rsh --remote-path --repository-file",
        _R,
        "names a program to run",
    ),
    Row("rsync", "--files-from --temp-dir -T --backup-dir --partial-dir --early-input", _W, "writes files"),
    Row("axel wget2 httrack", "", _W, "writes what it fetches"),
    Row("http https xh xhs", "-d --download -o --output --session", _W, "writes a file"),
    *_under("http https xh xhs", "POST PUT PATCH DELETE", _N, "sends data"),
    Row("lynx w3m links elinks", "-cmd_script -eval -cfg -cmd_log -o", _R, "runs a program", is_exact=True),
    Row("websocat", "", _N, "opens connections, and can run programs on them"),
    Row("curl", "-Q --quote --mail-from --mail-rcpt --variable --url-query", _N, "sends data"),
    # keys
    Row("gpg gpg2", "--log-file --logger-file --status-file --attribute-file", _W, "writes a file"),
    Row(
        "gpg gpg2",
        "-s --sign -b --detach-sign --clearsign -e --encrypt -c --symmetric -d --decrypt --export-secret-keys "
        "--recv-keys --send-keys --quick-generate-key --refresh-keys",
        _W,
        "writes files",
    ),
    Row("age sops pass gopass", "-o --output -d --decrypt -i --in-place", _W, "writes a file"),
    *_under("pass gopass", "show edit insert generate rm", _N, "changes keys"),
    Row(
        "openssl",
        "-keyout -CAserial -CAcreateserial -sess_out -keylogfile -msgfile",
        _W,
        "writes a file",
        is_exact=True,
    ),
    *_under("openssl", "rehash ca srp genrsa genpkey", _W, "writes a file"),
    Row("ssh-add", "-D -d -K -x -X", _N, "changes keys"),
    Row("ssh-keygen", "-R -s -p -A -Y -H -c", _W, "changes keys"),
)
