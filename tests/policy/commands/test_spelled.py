"""What a list excludes stays excluded in each spelling of the same thing, and nothing else does."""

from __future__ import annotations

import pytest

from policy.judging import gate

FORCE, HARD, REMOVE = "git push --force", "git reset --hard", "rm -rf"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (FORCE, "git push -f"),
        (FORCE, "git push origin main --force"),
        (FORCE, "git push origin -qf main"),
        (FORCE, "git push -u origin +main"),
        (FORCE, "git push origin +HEAD:main"),
        (FORCE, "git push origin +$b:main"),
        (FORCE, "git -C src push --forc"),
        (FORCE, "git --no-pager push -fu origin main"),
        (HARD, "git reset HEAD~1 --hard"),
        (HARD, "git reset --har"),
        (HARD, "git reset -q --hard HEAD~1"),
        (REMOVE, "rm -fr src"),
        (REMOVE, "rm -f -r src"),
        (REMOVE, "rm src -rf"),
        (REMOVE, "rm -Rfv src"),
        (REMOVE, "/bin/rm --recursive --force src"),
        ("rm -rf /", "rm -fr x /"),
        ("git push", "git send-pack ../x main"),
        ("git push", "git subtree push -P src origin x"),
        ("git branch -D", "git branch -d -f x"),
        ("npm publish", "npm --tag next publish"),
        ("npm install", "npm i x"),
        ("npm install", "npm --no-audit add x"),
        ("npm install -g", "npm i --location=global x"),
        ("pip install", "pip3 install x"),
        ("pip install", "python3 -m pip install x"),
        ("pip install", "python3 -W ignore -mpip --no-input install x"),
        ("terraform destroy", "terraform apply -auto-approve -destroy"),
        ("pip", "pip3 list"),
        ("pip", "python3 -m pip list"),
        ("sort", "gsort a.txt"),
        ("python3", "python3.12 x.py"),
        ("find -delete", "find . -name '*.o' -delete"),
        ("sed -i", "sed -n -i p x"),
        ("sed -i", "sed --in-place=.bak s/a/b/ x"),
        ("docker rm -f", "docker rm x --force"),
        ("git commit --no-verify", "git commit -nm x"),
        ("git stash drop", "git stash drop -q"),
        ("git add .", "git add src ."),
        ("npm owner add", "npm --otp=1 owner add x"),
        ("curl -X POST", "curl -sXPOST https://example.com"),
        ("./x", "./x"),
        ("./x", "docs/../x"),
        ("./x", "nice ./x -v"),
        ("./x", "(cd src && ../x)"),
        ("scripts/deploy.sh", "scripts/deploy.sh"),
        ("scripts/deploy.sh", "cd scripts && ./deploy.sh"),
        ("scripts/deploy.sh", "bash -e ./scripts/deploy.sh"),
        ("scripts/deploy.sh", ". scripts/deploy.sh"),
        ("scripts/deploy.sh prod", "scripts/deploy.sh -v prod"),
        ("./manage.py flush", "python3 manage.py flush --noinput"),
        ("/usr/bin/rm", "/usr/bin/rm x"),
        ("/usr/bin/rm", "rm x"),
        ("rm", "/opt/bin/rm x"),
        ("./node_modules/.bin/prisma", "node_modules/.bin/prisma migrate reset"),
        ("cat .env", "cat ./.env"),
        ("cat .env", "cat docs/../.env"),
        ("cat .env", "cat -n a.txt .env"),
        ("cat .env", "cat < .env"),
        ("cat .env", "cd src && cat ../.env"),
        ("cat .env", 'cd "$x" && cat .env'),
        ("rm keep", "rm -f a.txt ./keep"),
        ("python3 scripts/deploy.py", "python3 -u ./scripts/deploy.py"),
        ("python3 scripts/deploy.py", "cd scripts && python3 deploy.py"),
    ],
)
def test_what_is_excluded_is_so_in_each_spelling(rule: str, command: str) -> None:
    assert gate(command, None, [rule]) == "deny"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("npm publish", "npm publis"),
        ("python3", "python x.py"),
        (FORCE, 'o=$(cat x); git push origin "$o"'),
        (FORCE, "git push $(cat x)"),
        (HARD, 'read x; git reset "$x" HEAD~1'),
    ],
)
def test_what_may_be_excluded_is_asked_about(rule: str, command: str) -> None:
    assert gate(command, None, [rule]) == "ask"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (FORCE, "git push -u origin main"),
        (FORCE, "git push --force-with-lease origin main"),
        (FORCE, "git push origin --delete x"),
        (FORCE, "git fetch -f"),
        (FORCE, 'git push origin "$BRANCH"'),
        (HARD, "git reset --soft HEAD~1"),
        (REMOVE, "rm -r src"),
        (REMOVE, "rm -f src"),
        (REMOVE, "rm -- -rf"),
        ("rm -rf /", "rm -rf x"),
        ("npm publish", "npm pack"),
        ("python2", "python3 x.py"),
        ("tar", "star x"),
        ("rm", "rm2 x"),
        ("npm install", "npm uninstall x"),
        ("npm install -g", "npm install x"),
        ("npm owner add", "npm owner ls"),
        ("npm run deploy", "npm run build -- deploy"),
        ("pip install", "pip list"),
        ("pip install", "python3 -m pip list"),
        ("pip install", "python3 pip install"),
        ("terraform destroy", "terraform plan -destroy"),
        ("terraform apply x", "terraform apply"),
        ("find -delete", "find . -name -delete"),
        ("sed -i", "sed -n p x"),
        ("curl -X POST", "curl -X GET https://example.com"),
        ("git stash drop", "git stash list"),
        ("python3 -m pip", "python3 -m pytest"),
        ("git push --weird", "git push"),
        ("./x", "x"),
        ("./x", "src/x"),
        ("./x", "cat x"),
        ("./x", "python3 y.py"),
        ("./manage.py flush", "./manage.py migrate"),
        ("cat .env", "cat .env.example"),
        ("cat .env", "cat src/.env"),
        ("cat .env", "echo > .env"),
        ("make deploy", "make all"),
        ("git add .env", "git add src"),
        ("python3 scripts/deploy.py", "python3 scripts/build.py"),
    ],
)
def test_what_is_not_excluded_is_not_stopped(rule: str, command: str) -> None:
    assert gate(command, None, [rule]) == "allow"
