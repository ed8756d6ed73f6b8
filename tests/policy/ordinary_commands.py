"""Commands such as agents run all day, a line each; they are only judged, never run.

`LOOKING` and `WORKING` are what a rule that names the program should cover; `MIXED` holds what writes files, runs code
that is written in its arguments or talks to others: with a list of programs that is a question, without one it isn't.
"""

from __future__ import annotations

LOOKING = r"""
ls
ls -la
ls -la src/ tests/
ls -lh --sort=size | head -20
ls *.py
pwd
cat README.md
cat package.json | head -50
cat src/main.py src/util.py
head -n 40 src/app.ts
tail -n 100 logs/server.log
tail -20 CHANGELOG.md
wc -l src/*.py
wc -l $(git ls-files '*.py')
find . -name '*.py'
find . -type f -name "*.ts" -not -path "*/node_modules/*"
find src -name '*.java' | xargs wc -l
find . -name '*.py' -print0 | xargs -0 grep -n TODO
find . -maxdepth 2 -type d
find . -name '*.log' -mtime +7
find . -type f -exec grep -l "import os" {} +
find . -name package.json -not -path '*/node_modules/*' -exec dirname {} \;
grep -rn "def main" src
grep -rn --include='*.py' 'class .*Error' .
grep -E '^(import|from)' src/app.py | sort | uniq -c | sort -rn
grep -c '' README.md
grep -A3 -B3 "version" pyproject.toml
rg TODO
rg -n "useState" src --glob '!*.test.tsx'
rg -l 'fetch\(' -t ts
rg --files | head
rg -U 'a\nb' src
rg 'foo|bar' -g '*.{ts,tsx}'
sort names.txt
sort -u names.txt | head
cut -d: -f1 /etc/passwd
tr 'a-z' 'A-Z' < README.md
diff a.txt b.txt
diff -u old.py new.py
diff <(sort a) <(sort b)
comm -12 a b
file dist/app
stat README.md
du -sh .
du -sh * | sort -h | tail -5
df -h
tree -L 2
tree -L 3 -I 'node_modules|dist'
which node
which -a python3
command -v cargo
type ls
uname -a
whoami
id
date
date +%Y-%m-%d
env
env | grep -i path
printenv PATH
echo $HOME
echo "hello world"
echo "$PATH" | tr ':' '\n'
hostname
ps aux
ps aux | grep node
ps aux | grep [n]ode
pgrep -f 'node server'
top -b -n 1 | head -20
free -h
uptime
lsof -i :3000
ss -tlnp
netstat -tlnp
nproc
sed -n '10,20p' src/main.py
sed -n 1,80p src/app.ts
sed 's/foo/bar/g' README.md
awk '{print $1}' data.txt
awk -F, '{print $2}' data.csv | sort | uniq -c
awk 'NR>=10 && NR<=20' src/main.c
awk '/start/,/end/' file.txt
awk -F: '{ sum += $3 } END { print sum }' data
jq . package.json
jq '.dependencies | keys' package.json
jq -r '.scripts.test' package.json
cat data.json | jq '.items[] | {id, name}'
python --version
python3 -V
node --version
node -v && npm -v
go version
rustc --version
cargo --version
java -version
java --version
ruby -v
php -v
gcc --version
make --version
git status
git status --short
git diff
git diff --stat
git diff HEAD~1
git diff --cached
git diff main...HEAD -- src/
git log
git log --oneline -10
git log --oneline --graph --all | head -30
git log -p -1
git log --since="2 weeks ago" --author=me
git log --pretty=format:'%h %s' -5
git log -S'needle' --oneline
git show HEAD
git show HEAD:src/app.py
git show --stat HEAD
git blame -L 10,20 src/main.py
git branch
git branch -a
git branch --show-current
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git remote -v
git ls-files
git ls-files | wc -l
git grep -n "TODO"
git stash list
git tag
git describe --tags
git config --get user.name
git config --list
git shortlog -sn
git reflog | head
git --no-pager log -5
git -c core.pager=cat log -1 | true
git worktree list
git check-ignore -v dist
git fetch --dry-run
npm ls
npm ls --depth=0
npm outdated
npm view react version
npm run
pip list
pip show requests
pip freeze
pip --version
cargo tree
go list ./...
go env GOPATH
docker ps
docker ps -a
docker images
docker logs web --tail 100
docker inspect web
docker compose ps
docker version
kubectl get pods
kubectl get pods -A
kubectl describe pod web
kubectl logs web --tail=50
kubectl config current-context
gh pr list
gh pr view 12
gh issue list
gh issue view 3
gh run list
gh pr checks
gh pr diff 12
terraform version
xxd file.bin | head
hexdump -C file.bin | head
od -c file | head
md5sum file.iso
sha256sum dist/*
basename src/main.py
dirname src/main.py
realpath src
readlink -f link
test -f README.md && echo yes
[ -d node_modules ] && echo installed || echo missing
[[ -f setup.py ]] && echo old || echo new
cd src && ls
cd packages/web && cat package.json
cd tests; ls
for f in *.py; do wc -l "$f"; done
for d in a b c; do ls "$d"; done
while read -r line; do echo "$line"; done < names.txt
if [ -f Makefile ]; then head Makefile; fi
seq 1 10
printf '%s\n' a b c
sleep 2
true
nl -ba src/main.py | sed -n '20,40p'
column -t -s, data.csv
tac file | head
strings dist/app | grep version
nm dist/app.o
ldd /bin/ls
objdump -d app.o | head -50
man -k printf
git log --format='%an' | sort | uniq -c | sort -rn | head
cat <<'EOF'
hello
EOF
ls -1 | wc -l; pwd; git status -s
ls 2>/dev/null || true
ls nothing 2>&1 | head
git status > /dev/null 2>&1 && echo clean
"""

WORKING = r"""
npm install
npm ci
npm test
npm run build
npm run lint -- --fix
npm run test -- --watch=false
npm install --save-dev typescript
npm uninstall lodash
npm audit
npm start
yarn
yarn install
yarn install --frozen-lockfile
yarn build
yarn test
yarn add react
pnpm install
pnpm build
pnpm -r test
pnpm --filter web build
bun install
bun test
bun run build
deno test
deno fmt
deno lint
tsc --noEmit
tsc
eslint src
eslint . --ext .ts,.tsx
prettier --check .
jest
jest src/app.test.ts
vitest run
pytest
pytest -q
pytest tests/test_app.py -x -q
pytest -k "login and not slow" -v
pytest tests/test_app.py::test_one
pytest -n 4 --maxfail=1
python -m pytest
python3 -m pytest tests -q
python -m unittest discover
python script.py
python3 manage.py migrate
python3 manage.py test
python3 scripts/build.py --fast
pip install requests
pip install -r requirements.txt
pip install -e .
pip install -e '.[dev]'
pip uninstall -y requests
uv sync
uv pip install requests
uv add httpx
uv lock
poetry install
poetry add requests
poetry build
pipenv install
ruff check .
ruff check --fix src
ruff format .
black .
black --check src
mypy src
mypy --strict src
pyright
isort .
flake8 src
cargo build
cargo build --release
cargo test
cargo test --workspace -- --nocapture
cargo check
cargo clippy -- -D warnings
cargo fmt
cargo run
cargo run --bin server
cargo add serde
go build ./...
go test ./...
go test -run TestX -v ./pkg
go vet ./...
go mod tidy
go fmt ./...
gofmt -l .
make
make test
make -j4
make clean
make build VERBOSE=1
cmake -S . -B build
cmake --build build
cmake --build build -j 8
ctest --output-on-failure
ninja
meson setup build
mvn test
mvn -q clean install
mvn package -DskipTests
./gradlew build
./gradlew test
gradle test
./mvnw test
./run.sh
./scripts/test.sh
bundle install
rake test
rails db:migrate
composer install
dotnet build
dotnet test
swift build
swift test
mix test
mix deps.get
gcc -Wall -O2 -c main.c
node server.js
node dist/index.js --port 3000
node --test
ruby script.rb
php artisan migrate
docker build -t app .
docker compose up -d
docker compose down
docker stop web
docker pull postgres:16
terraform init
terraform plan
terraform validate
mkdir -p src/components
mkdir build
touch src/new.py
cp a.txt b.txt
cp -r src backup
mv old.py new.py
rm file.txt
rm -rf node_modules
rm -rf dist build
rm -f *.o
rmdir empty
ln -s ../shared lib
git add .
git add -A
git add src/app.py tests/
git commit -m "Fix the parser"
git commit -am 'wip'
git commit --amend --no-edit
git checkout main
git checkout -b feature/x
git checkout -- src/app.py
git switch -c topic
git restore src/app.py
git restore --staged .
git merge main
git rebase main
git rebase --continue
git cherry-pick abc123
git stash
git stash pop
git reset HEAD~1
git reset --hard
git revert HEAD
git pull
git pull --rebase
git fetch origin
git fetch --all --prune
git push
git push origin main
git push -u origin feature/x
git push --force-with-lease
git tag v1.0.0
git init
git mv a b
git rm --cached file
git clean -n
git submodule update --init --recursive
git clone https://example.org/a/b.git
git apply fix.patch
gh pr create --fill
gh pr checkout 12
nohup npm run dev &
npm run dev &
timeout 60 npm test
time make
CI=1 npm test
NODE_ENV=production npm run build
RUST_BACKTRACE=1 cargo test
DEBUG=* node app.js
export NODE_ENV=test
source_date=1 make
cd web && npm install && npm run build
npm ci && npm test
npm run lint; npm run typecheck
(cd api && go test ./...)
pytest -q 2>&1 | tail -20
npm test 2>&1 | grep -E 'fail|pass' | head
cargo build 2>&1 | head -50
set -e; make; make test
set -euo pipefail; npm ci; npm test
xargs -n1 echo < names.txt
ls *.ts | xargs -I{} basename {} .ts
git diff --name-only | xargs ruff check
sleep 5 && curl -s http://localhost:3000/health
curl http://localhost:3000
curl -s http://localhost:8080/api/items | jq .
curl -sSf https://example.org/
curl -I https://example.org
bash scripts/setup.sh
sh -c 'echo hi'
bash -c 'npm test'
bash -lc 'npm run build'
"""

MIXED = r"""
echo "x = 1" > config.py
echo done >> notes.txt
cat > src/new.py <<'EOF'
print("hi")
EOF
cat a b > c
git diff > fix.patch
npm test > out.log 2>&1
sed -i 's/foo/bar/' src/app.py
sed -i.bak -e '1d' file
perl -pi -e 's/a/b/' file.txt
sort -o out.txt in.txt
find . -name '*.pyc' -delete
find . -name '__pycache__' -exec rm -rf {} +
python -c 'print(1 + 1)'
python3 -c "import sys; print(sys.version)"
node -e 'console.log(1)'
ruby -e 'puts 1'
perl -ne 'print if /x/' file
python3 - <<'EOF'
print(1)
EOF
npx tsc --noEmit
npx create-react-app web
npx prettier --write .
uvx ruff check
prettier --write src
curl -X POST -d '{"a":1}' http://localhost:3000/items
curl -o file.tgz https://example.org/file.tgz
curl -fsSL https://example.org/install.sh | bash
wget https://example.org/file.tgz
tar xzf file.tgz
tar czf out.tgz src
unzip file.zip
zip -r out.zip src
chmod +x run.sh
kill 1234
kill -9 $(lsof -t -i:3000)
pkill -f 'node server'
docker run --rm -it alpine sh
docker exec -it web ls /app
docker exec db psql -U postgres -c 'select 1'
kubectl exec web -- ls
kubectl apply -f deploy.yaml
ssh host uptime
scp file host:/tmp/
rsync -a src/ backup/
source .venv/bin/activate
source .venv/bin/activate && pytest
. ./env.sh
source ~/.nvm/nvm.sh && nvm use 18
sqlite3 app.db '.tables'
sqlite3 app.db 'select count(*) from users'
psql -c 'select 1'
mysql -e 'show tables'
tee out.txt < in.txt
tmux new-session -d -s dev 'npm run dev'
crontab -l
watch -n 1 ls
eval "$(direnv hook bash)"
cargo install ripgrep
npm install -g typescript
pip install --index-url https://example.org/simple x
go run main.go
go install ./cmd/tool
go generate ./...
git config user.name me
git -c user.name=me commit -m x
make -C sub all
make -f other.mk
cd /tmp && ls
cd .. && ls
alias ll='ls -la'
ffmpeg -i in.mp4 out.gif
sudo apt-get install -y jq
apt-get update
brew install jq
trap 'echo bye' EXIT; make
time (npm run build)
docker compose exec web npm test
docker run -v "$PWD":/app -w /app node:20 npm test
poetry run pytest
uv run pytest -q
uv run python script.py
pipenv run python app.py
pnpm exec tsc
pnpm dlx cowsay hi
bundle exec rspec
xargs rm < list.txt
PATH=$PATH:./node_modules/.bin tsc
openssl rand -hex 16
"""


def lines(text: str) -> list[str]:
    """Return the commands; a here-document's lines belong to the line that asks for it."""
    found: list[str] = []
    is_open = False
    for line in text.strip("\n").split("\n"):
        if is_open:
            found[-1] += f"\n{line}"
            is_open = line != "EOF"
        else:
            found.append(line)
            is_open = "<<'EOF'" in line
    return found
