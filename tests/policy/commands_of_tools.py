"""Commands of the tools that agents use, a line each, judged as tables and never run; all of a table in one test.

`ORDINARY` are what a rule that names their programs covers; `MORE_THAN_THEIR_PROGRAM` run, write or reach what it doesn't.
"""

from __future__ import annotations

ORDINARY = r"""
git log --oneline --decorate -n 20
git log -n 5 --stat -- src/
git log --all --oneline -- '*.md'
git log --since=yesterday --no-merges
git log -L 10,20:src/app.py
git log -G'def foo' -p
git log HEAD..origin/main --oneline
git log --follow -p -- src/app.py
git log -1 --format=%cd --date=iso
git log --pretty=oneline | wc -l
git log --merges --first-parent -5
git log --name-only --oneline -3
git log --diff-filter=D --summary
git log --format="%h %an %s" --reverse
git log -p -S "TODO" -- "*.py"
git log --oneline | grep -i fix | head
git log origin/main..HEAD
git log --no-color -3
git -c color.ui=never log -3
git -c core.quotepath=off ls-files
git -C . status
git -C src log -1
git -C packages/web status
git --no-pager diff --stat
git --no-optional-locks status
git --literal-pathspecs ls-files
git diff --name-only HEAD~3
git diff --name-status main...HEAD
git diff -w
git diff --word-diff
git diff --no-color -U0 HEAD
git diff --numstat
git diff --check
git diff -M -C --stat
git diff --no-index a.txt b.txt
git diff HEAD -- src/app.py
git diff --exit-code
git diff --quiet || echo dirty
git diff :1:f :2:f
git diff stash@{0}
git show HEAD~2:package.json
git show --name-only
git show --format= --name-status HEAD
git show v1.0^{commit}
git show HEAD@{1}
git show abc123 -- f
git show :/fix
git status -sb
git status --porcelain=v2 --branch
git status -uno
git status --ignored
git branch -vv
git branch --list 'feature/*'
git branch -r --contains HEAD
git branch -D old
git branch --merged main
git branch -m old new
git branch --sort=-committerdate --format='%(refname:short)'
git checkout -
git checkout main -- src/app.py
git checkout -b fix/x origin/main
git checkout HEAD~1 -- package.json
git switch -
git switch main
git stash push -m 'wip' -- src
git stash show -p
git stash apply stash@{1}
git stash drop
git stash list --format=%gd
git stash -u
git commit -m "fix: don't crash" -m "Longer text"
git commit --allow-empty -m 'ci'
git commit --fixup HEAD~2
git commit -S -m x
git commit --no-verify -m x
git commit -m "$(date +%F) release"
git add -u
git add src/*.py
git add --patch src/app.py
git add -N newfile
git add -- "file with spaces.txt"
git add . && git commit -m "feat(api): add x" && git push
git reset --soft HEAD~1
git reset -- src/app.py
git reset --hard origin/main
git restore .
git restore --source=HEAD~2 src/app.py
git rebase origin/main
git rebase --abort
git rebase --skip
git rebase --onto main topic~3 topic
git rebase --autostash main
git merge --no-ff feature/x
git merge --abort
git merge --squash topic
git merge-base main HEAD
git cherry-pick -n abc
git cherry-pick --continue
git cherry -v main
git revert --no-edit HEAD
git tag -l 'v1.*'
git tag -a v1.0 -m 'Release 1.0'
git tag --sort=-v:refname | head -1
git tag -d v1.0
git push origin HEAD
git push --tags
git push origin --delete old
git push -f origin HEAD:main
git push --set-upstream origin "$(git branch --show-current)"
git pull origin main
git pull --ff-only
git pull --no-rebase
git fetch origin main:main
git fetch --tags
git fetch --depth=1
git fetch -p
git remote
git remote show origin
git remote get-url origin
git remote add upstream https://example.org/a/b.git
git remote set-url origin https://example.org/a/b.git
git ls-remote --heads origin
git ls-remote origin HEAD
git ls-files -m
git ls-files --others --exclude-standard
git ls-files -z | xargs -0 wc -l
git ls-files '*.ts' | head -20
git ls-files -s
git ls-tree -r HEAD --name-only
git ls-tree HEAD src/
git cat-file -p HEAD
git cat-file -t abc
git rev-list --count HEAD
git rev-list --all --objects | head
git rev-parse --show-toplevel
git rev-parse --git-dir
git rev-parse --short HEAD
git rev-parse --verify main
git rev-parse --is-inside-work-tree
git symbolic-ref --short HEAD
git for-each-ref --format='%(refname)' refs/heads
git for-each-ref --sort=-committerdate refs/heads/ --format='%(committerdate:short) %(refname:short)'
git describe --tags --always --dirty
git describe --abbrev=0
git shortlog -sne HEAD
git blame -w -C src/app.py
git blame -L '/def foo/,+10' f.py
git blame HEAD~5 -- f
git grep -n 'foo(' -- '*.py'
git grep -l TODO
git grep -e a --and -e b
git grep -i -E 'a|b' HEAD~1
git grep -c import -- src
git bisect start
git bisect good v1.0
git bisect bad
git bisect reset
git bisect log
git reflog -10
git reflog show main
git config user.email
git config --get remote.origin.url
git config -l --show-origin
git config --get-regexp 'alias.*'
git config --local --list
git config core.autocrlf
git worktree list --porcelain
git worktree add wt topic
git worktree remove wt
git worktree prune
git submodule status
git submodule update --init
git submodule sync
git clean -fd
git clean -fdx
git clean -nd
git gc
git fsck
git prune
git count-objects -vH
git apply --check p.diff
git apply -R p.diff
git apply --stat p.diff
git am p.patch
git am --abort
git format-patch -1
git format-patch --stdout HEAD~2
git range-diff main topic@{1} topic
git notes list
git archive HEAD | tar t
git rm -r --cached dist
git rm old.txt
git mv src/a.py src/b.py
git clone --depth 1 https://github.com/a/b
git clone -b main https://github.com/a/b.git b
git clone git@github.com:a/b.git
git clone --recurse-submodules https://github.com/a/b
git init -q
git init -b main
git check-ignore -v node_modules
git check-attr -a f
git var GIT_AUTHOR_IDENT
git version
git help log
git --version
git -p status
git sparse-checkout list
git maintenance run
git whatchanged -3
git name-rev HEAD
git merge-tree main topic
git diff-tree --no-commit-id --name-only -r HEAD
git diff-index --quiet HEAD --
git hash-object f
git show-ref --tags
git verify-commit HEAD
git update-index --refresh
git update-index --chmod=+x run.sh
git show-branch
git log --graph --pretty=format:'%Cred%h%Creset -%C(yellow)%d%Creset %s' --abbrev-commit
git log --author="A <a@b.c>" --grep='fix(#12)'
git commit -m 'a | b > c & d'
git log "HEAD@{1 week ago}"
git log --pretty='%h|%s' | awk -F'|' '{print $2}'
git diff --stat $(git merge-base HEAD main)
git diff $(git merge-base main HEAD)..HEAD
git show $(git rev-parse HEAD)
git log $(git describe --tags --abbrev=0)..HEAD --oneline
git branch | grep -v main | xargs git branch -d
git status | cat
git diff | head -100
git diff | grep '^+' | wc -l
npm install lodash@4
npm install --legacy-peer-deps
npm i -D vitest
npm ci --prefer-offline --no-audit
npm run test:unit
npm run build --workspace=web
npm run dev -- --port 3000
npm run lint -- --max-warnings 0 src/
npm run --silent build
npm test -- --coverage
npm test -- src/app.test.ts -t 'does x'
npm test -- --testPathPattern=foo
npm run test -- -u
npm run build 2>&1 | tail -20
npm --version
npm list --depth=0 --json
npm ls react
npm why lodash
npm explain lodash
npm view react versions --json
npm info react
npm show react
npm search foo
npm pack --dry-run
npm outdated --json
npm audit --json
npm audit fix
npm dedupe
npm prune
npm cache clean --force
npm config get registry
npm config list
npm root
npm prefix
npm bin
npm version patch --no-git-tag-version
npm update
npm rebuild
npm fund
npm doctor
npm ping
npm whoami
npm t
npm run-script build
npm link
npm init -y
npm run build -w packages/a
npm -w packages/a test
npm install --workspaces
npm help install
npm uninstall x
npm stop
npm run build:prod && npm run test:e2e
npm pkg get version
yarn run build
yarn workspace web build
yarn workspaces list
yarn lint --fix
yarn why react
yarn info react
yarn list --depth=0
yarn --version
yarn install --immutable
yarn add -D typescript
yarn remove x
yarn tsc --noEmit
yarn jest src/a.test.ts
yarn upgrade
yarn cache clean
yarn dev
pnpm i
pnpm install --frozen-lockfile
pnpm add -D vitest
pnpm run build
pnpm test -- --run
pnpm -w run lint
pnpm --filter ./packages/a test
pnpm list --depth 0
pnpm why react
pnpm up
pnpm -v
pnpm lint
pnpm dev
pnpm -F web dev
bun run test
bun add react
bun --version
bun pm ls
bun run index.ts
deno task dev
deno check main.ts
deno --version
deno run --allow-read main.ts
deno run main.ts
deno info
deno cache deps.ts
pytest tests/ -v --tb=short
pytest -x --lf
pytest --co -q
pytest -vv -s tests/test_a.py::TestA::test_b
pytest -k 'a or b' --durations=10
pytest --cov=src --cov-report=term-missing
pytest -m 'not slow'
pytest -rA
pytest --maxfail 2 -ra
pytest -W error
pytest --ff
pytest "tests/test_a.py::test_x[param-1]"
pytest -p no:cacheprovider
pytest -n auto
pytest --version
pytest --collect-only
pytest --fixtures
pytest tests/unit -q --no-header
pytest -q --disable-warnings 2>&1 | tail -5
pytest --timeout=60
pytest -x -vv --tb=long -k test_foo
python -m pytest -x -q tests/test_a.py
python3 -m pytest --tb=line
python -m unittest tests.test_a
python -m unittest -v
python -m mypy src
python -m ruff check .
python -m black --check .
python -m flake8
python -m doctest README.md
python3 --version
python -V
python3 app.py --port 8000
python manage.py runserver
python manage.py makemigrations
python setup.py build
python -u script.py
python -B -m pytest
python -W ignore script.py
python3.11 -m pytest
python3.12 script.py
python3 ./scripts/x.py a b
pip list --outdated
pip install -U pip
pip install 'requests>=2'
pip install "django~=4.2"
pip install -r requirements.txt -r requirements-dev.txt
pip install --upgrade setuptools
pip install --user x
pip install --no-cache-dir -r requirements.txt
pip install --no-deps .
pip install -e ".[test]"
pip install -q pytest
pip uninstall x -y
pip check
pip show -f requests
pip freeze | grep -i django
pip freeze --local
pip list --format=json
pip config list
pip index versions requests
pip download x
pip cache list
pip debug
pip help
pip3 install x
pip install git+https://github.com/a/b
pip wheel .
pip hash f
cargo build --all-features
cargo build -p mycrate --target x86_64-unknown-linux-gnu
cargo test -- --test-threads=1
cargo test --lib foo::bar
cargo test --doc
cargo test --no-run
cargo test -p a test_name -- --exact --nocapture
cargo check --all-targets --message-format=short
cargo clippy --all-targets --all-features -- -D warnings
cargo clippy --fix --allow-dirty
cargo fmt --all -- --check
cargo doc --no-deps
cargo update -p serde
cargo update
cargo tree -i serde
cargo tree -d
cargo metadata --format-version 1 --no-deps
cargo metadata | jq '.packages[].name'
cargo run --release -- --help
cargo run -p x --example y
cargo bench
cargo clean
cargo new foo --lib
cargo init
cargo add tokio --features full
cargo remove x
cargo search serde
cargo fetch
cargo vendor
cargo package --list
cargo nextest run
cargo expand
cargo audit
cargo outdated
cargo -V
cargo --list
cargo help build
cargo fix --lib
cargo generate-lockfile
cargo build --locked
cargo -q test
cargo build -v
cargo test 2>&1 | tail -40
cargo build --timings
cargo build --features "a b"
cargo b
cargo t
cargo llvm-cov
cargo locate-project
cargo tarpaulin
cargo machete
cargo deny check
cargo info serde
go build
go build -v ./...
go build -tags integration ./...
go build -race ./...
go test -v ./pkg/...
go test -race -cover ./...
go test -count=1 -run 'TestA|TestB' ./...
go test ./... -short
go test -bench=. -benchmem
go test -json ./...
go test -timeout 30s ./...
go mod download
go mod why x
go mod graph
go mod init example.org/x
go mod verify
go mod vendor
go get example.org/x@latest
go get -u ./...
go list -m all
go list -f '{{.Dir}}' ./...
go list -json ./...
go doc fmt.Println
go env
go env GOMODCACHE
go version -m bin/app
go clean -testcache
go clean -modcache
go vet -tags x ./...
go fmt ./pkg/...
go help build
go tool cover -func=c.out
go build -ldflags "-s -w" ./...
go build -ldflags="-X main.version=1" ./cmd/x
go build -trimpath
gofmt -d .
gofmt -l -s .
golangci-lint run
golangci-lint run ./...
staticcheck ./...
make -n
make -k test
make -s
make all -j8
make -B
make test TEST=foo
make lint format
make help
make -p
make V=1
make -j$(nproc)
make -j "$(nproc)" check
make install
make docker-build
make check TESTS='a b'
make -q
make build ARGS="--verbose"
cmake ..
cmake -B build -DCMAKE_BUILD_TYPE=Release
cmake -S . -B build -G Ninja
cmake --build build --target test
cmake --build . --config Release --parallel 4
cmake -DBUILD_TESTING=ON -B build
cmake --version
cmake -LAH -B build
cmake --list-presets
cmake --preset default
cmake --build --preset default
ctest --test-dir build
ctest -R foo -V
ctest -j4
ctest -N
ninja -C build
ninja -C build test
ninja -j4
ninja -v
ninja -n
meson compile -C build
meson test -C build
meson configure build
meson setup build --buildtype=debug
bazel build //...
bazel test //foo:bar --test_output=errors
bazel query 'deps(//foo)'
bazel run //foo
bazel info
just test
just build release
just --list
just -l
task build
task --list
mvn clean verify
mvn test -Dtest=FooTest
mvn test -Dtest='Foo#bar'
mvn -B -ntp verify
mvn dependency:tree
mvn compile -pl core -am
mvn -version
mvn -o test
mvn spotless:apply
mvn versions:display-dependency-updates
mvn help:effective-pom
mvn install -DskipTests -T 4
./gradlew test --tests 'com.x.FooTest'
./gradlew :app:assembleDebug
./gradlew clean build -x test
./gradlew tasks
./gradlew dependencies
./gradlew build --info
./gradlew --stop
./gradlew test --no-daemon
gradle build
gradle tasks --all
gradle wrapper
gradle -q dependencies
sbt test
sbt compile
sbt "testOnly foo.Bar"
dotnet build -c Release
dotnet test --filter FullyQualifiedName~Foo
dotnet restore
dotnet run --project src/App
dotnet new list
dotnet --info
dotnet --version
dotnet add package X
dotnet list package
dotnet publish -c Release
dotnet format
dotnet clean
dotnet sln list
dotnet ef migrations list
swift package resolve
swift build -c release
swift test --filter Foo
swift run
swift --version
swift package describe
bundle exec rspec spec/a_spec.rb
bundle exec rake db:migrate
bundle exec rubocop
bundle list
bundle update x
bundle check
bundle show x
bundle outdated
rake
rake -T
rake db:migrate
rake spec
rspec spec/models
rspec spec/a_spec.rb:12
rails test
rails routes
rails generate model X
rails server
ruby -c f.rb
ruby -w f.rb
gem list
gem env
gem search x
composer update
composer require x/y
composer show
composer dump-autoload
composer test
composer validate
composer outdated
php -l f.php
php artisan test
php artisan route:list
php vendor/bin/phpunit
vendor/bin/phpunit tests
./vendor/bin/phpstan analyse src
php -m
php -i
php script.php
phpunit --filter testX
mix compile
mix format
mix test test/a_test.exs:12
mix ecto.migrate
mix phx.server
stack build
stack test
cabal build
cabal test
dart test
dart analyze
dart format .
flutter test
flutter pub get
flutter analyze
flutter build apk
flutter run
zig build
zig build test
zig test src/a.zig
zig version
nim c a.nim
crystal build a.cr
crystal spec
lein test
elm make src/Main.elm
javac Foo.java
javac -d out src/Foo.java
java -jar app.jar
java -cp out Foo
java -Xmx2g -jar x.jar
kotlinc a.kt
rustc --print target-list
rustc --explain E0308
rustup show
rustup target list
rustup component list
rustup --version
rustup update
rustup target add wasm32-unknown-unknown
rustup component add clippy
docker ps -q
docker ps --format '{{.Names}}'
docker ps -a --filter status=exited
docker image ls
docker images -q
docker logs -f web
docker logs --since 10m web 2>&1 | tail
docker inspect -f '{{.State.Status}}' web
docker stats --no-stream
docker top web
docker port web
docker diff web
docker info
docker version --format '{{.Server.Version}}'
docker network ls
docker network inspect bridge
docker volume ls
docker volume inspect v
docker compose logs web --tail 50
docker compose logs -f
docker compose config
docker compose ls
docker compose stop
docker compose restart web
docker compose pull
docker-compose ps
docker-compose logs web
docker rm -f web
docker rmi img
docker container ls
docker container prune -f
docker system df
docker system prune -f
docker start web
docker restart web
docker kill web
docker history img
docker search x
docker tag a b
docker events --since 1h
docker wait web
docker manifest inspect x
docker buildx ls
kubectl get pods -n default -o wide
kubectl get po,svc -o yaml
kubectl get pods --all-namespaces -o json | jq '.items[].metadata.name'
kubectl get all
kubectl get events --sort-by=.lastTimestamp
kubectl get deploy web -o jsonpath='{.spec.replicas}'
kubectl get nodes
kubectl get pod x -o yaml | head -50
kubectl describe deploy web
kubectl logs -f deploy/web
kubectl logs web -c app --previous
kubectl logs -l app=web --tail=20
kubectl top pods
kubectl version --client
kubectl cluster-info
kubectl config view
kubectl config get-contexts
kubectl config use-context dev
kubectl api-resources
kubectl explain pod.spec
kubectl rollout status deploy/web
kubectl rollout history deploy/web
kubectl diff -f x.yaml
kubectl auth can-i get pods
kubectl wait --for=condition=ready pod/x
kubectl -n prod get pods
kubectl --context dev get pods
helm list
helm list -A
helm status x
helm template ./chart
helm lint ./chart
helm get values x
helm history x
helm search repo nginx
helm dependency update
helm show values x/y
helm version
kustomize build overlays/dev
gh pr list --state open --limit 10
gh pr view 12 --json title,body
gh pr view --comments
gh pr view --web
gh pr diff 12 --name-only
gh pr checks 12 --watch
gh pr status
gh pr create --title "x" --body "y"
gh pr create --draft --base main --head topic
gh pr comment 12 --body 'x'
gh pr review 12 --approve
gh pr edit 12 --add-label bug
gh pr ready
gh pr close 12
gh issue list --label bug
gh issue create --title x --body y
gh issue view 3 --comments
gh issue comment 3 -b x
gh issue close 3
gh run list --limit 5
gh run view 123 --log-failed
gh run view 123 --log | grep -i error
gh run watch 123
gh workflow list
gh workflow view ci.yml
gh repo view
gh repo view a/b --json description
gh repo clone a/b
gh repo list a
gh release list
gh release view v1
gh api repos/a/b/pulls/1
gh api repos/a/b/issues --paginate
gh api user --jq .login
gh api repos/{owner}/{repo}/commits -q '.[0].sha'
gh api -H "Accept: application/json" repos/a/b
gh api graphql -f query='query { viewer { login } }'
gh auth status
gh search issues foo
gh search code foo --repo a/b
gh label list
gh gist list
gh status
gh --version
gh browse -n
gh cache list
gh secret list
gh variable list
gh project list
gh ruleset list
gh alias list
gh extension list
gh help
terraform fmt
terraform fmt -check -recursive
terraform plan -var-file=dev.tfvars
terraform plan -no-color
terraform show
terraform output
terraform output -json
terraform providers
terraform graph
terraform init -upgrade
terraform init -backend=false
terraform validate -json
terraform state list
terraform workspace list
terraform get
tofu plan
aws s3 ls
aws s3 ls s3://bucket/path/
aws sts get-caller-identity
aws ec2 describe-instances --query 'Reservations[].Instances[].InstanceId'
aws lambda list-functions
aws logs tail /aws/lambda/x --since 1h
aws --version
aws configure list
aws cloudformation describe-stacks
gcloud config list
gcloud projects list
gcloud compute instances list
gcloud auth list
gcloud --version
az account show
az group list
az vm list
az --version
jq -r '.[] | select(.a > 1) | .b' f.json
jq -c . f.json
jq -s 'add' a.json b.json
jq --arg x 1 '.a == $x' f.json
jq -e '.scripts.build' package.json
jq 'keys' f.json
jq length f.json
jq -n '1+1'
jq -R . f
jq -S . f.json
jq '.a // "none"' f.json
jq --raw-output '.version' package.json
jq '[.[] | {a, b: .c}]' f.json
jq '.a |= . + 1' f.json
jq '.dependencies | to_entries[] | "\(.key)@\(.value)"' -r package.json
yq '.a.b' f.yaml
yq eval '.a' f.yaml
yq -o json f.yaml
yq -P f.json
sed -n '/start/,/end/p' f
sed -n '5p' f
sed -n '1p;5p' f
sed -n '$p' f
sed -n '10,$p' f
sed -n '100,+20p' f
sed -n '1~2p' f
sed -n -e '1,10p' -e '20,30p' f
sed -n 's/^version = "\(.*\)"/\1/p' f
sed 's/a/b/' f
sed 's/a/b/2' f
sed 's|/a|/b|g' f
sed 's#a#b#gi' f
sed -E 's/([a-z]+) ([0-9]+)/\2 \1/' f
sed -r 's/a+/b/g' f
sed '/^#/d' f
sed '/^$/d' f
sed '/^\s*#/d;/^\s*$/d' f
sed '1d' f
sed '$d' f
sed '1,5d' f
sed 1q f
sed 10q f
sed -e 's/a/b/' -e 's/c/d/' f
sed 's/\x1b\[[0-9;]*m//g' f
sed 's/[[:space:]]*$//' f
sed 's/.*: //' f
sed -n '/foo/{p;q}' f
sed -n '/foo/{n;p}' f
sed -n '/foo/=' f
sed = f
sed '/foo/!d' f
sed '/a/,$!d' f
sed 's/a/b/;s/c/d/' f
sed 's/^/    /' f
sed 's/\//_/g' f
sed "s/'/\"/g" f
sed -n l f
sed y/abc/xyz/ f
sed '/a/a\text' f
sed '2i\hello' f
sed 'N;s/\n/ /' f
sed ':a;N;$!ba;s/\n/ /g' f
sed -n '1!G;h;$p' f
sed '/start/,/end/s/a/b/' f
sed --quiet 5p f
sed -s -n '1p' a b
sed -n "$((5)),10p" f
sed -u 's/a/b/' f
sed -z 's/\n/,/g' f
sed 's/a\|b/c/g' f
sed 's/"//g' f
sed 's/{/[/' f
sed -n '/a/I p' f
sed '0,/foo/s//bar/' f
sed '1,/x/d' f
sed '$!N;/^\(.*\)\n\1$/!P;D' f
sed -n '3{p;q;}' f
sed 's/a/&&/' f
sed 's/foo/\U&/' f
sed '/a/{s/b/c/;s/d/e/}' f
awk '{print $NF}' f
awk 'NR==5' f
awk 'NR>1' f
awk 'NR%2==0' f
awk 'END{print NR}' f
awk '{print NR": "$0}' f
awk -F'\t' '{print $2}' f
awk -F '[:,]' '{print $1, $3}' f
awk '/foo/' f
awk '/foo/{print $2}' f
awk '!/foo/' f
awk '!seen[$0]++' f
awk '{a[$1]++} END {for (k in a) print k, a[k]}' f
awk '{s+=$1} END {printf "%.2f\n", s/NR}' f
awk 'length > 80' f
awk 'length($0) > 80 {print FILENAME": "FNR}' f
awk '$3 > 100 {print $1}' f
awk '$1 == "a" && $2 > 5' f
awk -v n=5 'NR<=n' f
awk -v OFS=, '{$1=$1; print}' f
awk 'BEGIN{FS=","} {print $1}' f
awk 'BEGIN {print 1+1}'
awk '{print substr($0, 1, 10)}' f
awk '{gsub(/a/, "b"); print}' f
awk '{sub(/^ +/, ""); print}' f
awk '{print toupper($0)}' f
awk '{split($0, a, ","); print a[1]}' f
awk 'match($0, /[0-9]+/) {print substr($0, RSTART, RLENGTH)}' f
awk '/start/{f=1} f; /end/{f=0}' f
awk '/start/{f=1;next} /end/{f=0} f' f
awk 'NR==FNR{a[$1];next} $1 in a' a b
awk '{ if ($1 > 5) print "big"; else print "small" }' f
awk '{print ($1 > 5 ? "a" : "b")}' f
awk '$2 ~ /foo/' f
awk '$2 !~ /^#/' f
awk -F: '$3 >= 1000 {print $1}' /etc/passwd
awk 'max < $1 {max = $1} END {print max}' f
awk '{$1=""; print $0}' f
awk 'NF' f
awk 'NF>3{print $(NF-1)}' f
awk '{for(i=1;i<=NF;i++) print $i}' f
awk '{printf "%-20s %s\n", $1, $2}' f
awk "NR>=10 && NR<=20" f
awk 'ORS=NR%2?" ":"\n"' f
awk 1 f
awk '{print > "/dev/stderr"}' f
awk 'BEGIN{srand(); print rand()}'
awk '/a|b/' f
awk -F'|' '{print $1 "|" $2}' f
awk '{print "a > b"}' f
awk 'BEGIN{while(i++<3)print i}'
awk 'a || b' f
awk '/x/ || /y/ {print}' f
awk '{print $1 / $2}' f
awk '{ print length($1) }' f | sort -n
find . -name '*.js' -not -path './node_modules/*'
find . -iname 'readme*'
find . -type f -size +1M
find . -type f -newer a.txt
find . -empty
find . -type l
find . -type f -perm /111
find src -type f | sort
find . -name '*.py' | head -50
find . -type f -name '*.md' -print
find . \( -name '*.ts' -o -name '*.tsx' \) -print
find . -path ./node_modules -prune -o -name '*.js' -print
find . -type f -printf '%s %p\n' | sort -rn | head
find . -type f -printf '%T@ %p\n'
find . -mmin -60
find . -maxdepth 1 -type d ! -name '.*'
find . -regex '.*\.\(c\|h\)'
find . -name '*.txt' -ls
find . -type f | wc -l
find . -type f -print0 | xargs -0 ls -la
find . -name "*.go" -exec wc -l {} +
find . -name "*.go" -exec grep -Hn TODO {} \;
find . -name '*.json' -exec cat {} \;
find . -type f -exec file {} +
find . -type f -exec sha256sum {} +
find . -name '*.py' -exec head -1 {} \;
find . -name '*.sh' -exec ls -l {} \;
find . -type f -name "*.ts" -exec sh -c 'wc -l "$1"' _ {} \;
find / -name foo 2>/dev/null
find ~ -maxdepth 1
find . -name "$NAME"
find . -depth -type d -empty
find . -type f -name 'test_*.py' | xargs grep -l foo
find . -name '*.c' | xargs -n 1 basename
find . -name '*.c' -print0 | xargs -0 -I{} wc -l {}
find . -type f | sed 's/.*\.//' | sort | uniq -c
find . -type f -mtime -1 -not -name '*.log'
find . -user root
find src tests -name '*.py' -newermt '2024-01-01'
rg -n 'foo' src/
rg -i foo -g '*.py'
rg -l TODO
rg -c foo
rg -w foo -A 3 -B 3
rg -e foo -e bar
rg --type py 'class \w+'
rg -tpy foo
rg --files -g '*.ts'
rg -uu foo
rg --hidden foo
rg --no-ignore foo
rg -o 'v\d+' f
rg --json foo
rg -F 'foo(' src
rg -P '(?<=a)b'
rg -v foo f
rg -r 'x' foo f
rg --replace x foo f
rg --sort path foo
rg -m 5 foo
rg -C2 foo
rg --stats foo
rg --type-list
rg -U 'a.*\n.*b'
rg "foo" --glob '!node_modules'
rg "import .* from ['\"]react" src
rg --count-matches foo
rg foo -- -dash
rg -- --foo
rg --max-depth 2 foo
rg --files-with-matches foo | xargs sed -n 1p
rg -0 -l foo | xargs -0 wc -l
rg --debug foo
rg -z foo
grep -rn foo .
grep -rnE 'foo|bar' --include=*.py .
grep -r --exclude-dir=node_modules foo .
grep -rl foo src | head
grep -i foo f
grep -v '^#' f
grep -o '[0-9]*' f
grep -w foo f
grep -c foo f
grep -n foo f | head -5
grep -q foo f && echo yes
grep -F 'a.b' f
grep -P '\d+' f
grep -A5 foo f
grep -oP '(?<=v)\d+' f
grep -e a -e b f
grep -- -foo f
grep -rn "TODO\|FIXME" src
grep -L foo *.py
grep -x foo f
grep -z foo f
grep "$X" f
grep -f patterns.txt f
grep --color=never foo f
egrep 'a|b' f
fgrep a f
zgrep foo f.gz
ls -la --color=never
ls -R src
ls -lt | head
ls -1 src/*.py | wc -l
ls -d */
ls -la .git
ls ~/.config
ls -lhS
ls --help
ls "$DIR"
ls -l $(which python)
ls src/{a,b}
ls **/*.py
ls [a-c]*
ls -la | grep '^d'
ls | while read f; do echo "$f"; done
ls && pwd && whoami
cat f | head -n 20
cat -n f
cat -A f
cat f1 f2 | sort | uniq
cat "$FILE"
cat /etc/os-release
cat /proc/cpuinfo | grep 'model name' | head -1
cat .env.example
cat $(git ls-files | head -1)
cat - < f
head -c 100 f
head -1 f
head -n -5 f
tail -f log
tail -n +10 f
tail -c 200 f
tail -20 f | grep -i error
wc -l f
wc -w < f
wc -c f
sort f
sort -n f
sort -k2,2 -t: f
sort -u f
sort -rn f | head
sort -V f
sort -h f
sort f | uniq -d
sort -t$'\t' -k3 f
sort --unique f
sort -R f | head -1
sort -c f
sort -m a b
sort -z f
uniq -c f
uniq f
cut -d, -f1,3 f
cut -c1-80 f
cut -f2 f
cut -d' ' -f1 f
cut -d ' ' -f 2- f
tr -d '\n' < f
tr -s ' ' < f
tr '[:upper:]' '[:lower:]' < f
tr -dc 'a-z' < f
paste -sd, f
paste a b
join a b
column -t f
fold -w 80 f
fmt f
expand f
nl f
rev f
tac f
shuf -n 5 f
shuf -i 1-10
comm -23 a b
diff -r a b
diff -q a b
diff --brief a b
diff -y a b
diff --color=always a b
diff -u <(git show HEAD:f) f
diff a b | head
cmp a b
md5sum f
sha1sum f
sha256sum -c sums.txt
cksum f
base64 f
base64 -d f
base64 -w0 f
od -An -tx1 f
xxd -l 64 f
xxd -p f
hexdump -C f | head
strings -n 8 f
file *
stat f
stat -c %a f
stat --format=%s f
du -sh node_modules
du -h --max-depth=1
du -a . | sort -rn | head
df -h .
free -m
uname -r
uname -s -m
id -u
groups
hostname -I
date -u
date -u +%FT%TZ
date -d yesterday +%F
date -d @1700000000
date '+%Y-%m-%d %H:%M:%S'
date -r f
date --iso-8601
cal
lscpu
lsblk
arch
printenv
printenv HOME
env | sort
env | grep -i proxy
which python3
which -a node npm
whereis python
type -a python
type git
command -v node
command -v node >/dev/null && echo yes
hash -r
ps -ef
ps aux --sort=-%mem | head
ps -p 123 -o cmd=
ps -ef | grep '[p]ython'
pgrep -a node
pidof nginx
top -bn1
lsof -i
lsof -i :8080 -t
lsof -p 123
ss -ltn
ss -tulpn | grep 3000
netstat -an | grep LISTEN
ip addr
ip a
ip route
ifconfig
ping -c 1 example.org
dig example.org
dig +short example.org
nslookup example.org
host example.org
curl -s https://api.example.org/x
curl -sS http://localhost:8080/health
curl -fsS localhost:3000 | head
curl -L https://example.org
curl -sL https://example.org | grep title
curl -v https://example.org 2>&1 | head
curl -s -o /dev/null -w '%{http_code}' http://localhost:3000
curl -H 'Accept: application/json' https://example.org/x
curl -H "Authorization: Bearer $TOKEN" https://example.org/x
curl -s --max-time 5 localhost
curl --head https://example.org
curl -sk https://localhost
curl -G --data-urlencode 'q=x' https://example.org
curl --retry 3 -s https://example.org
curl -X GET https://example.org
curl -sSfL --compressed https://example.org
curl -u a:b https://example.org
curl -A x https://example.org
curl -s "http://localhost:3000/api?x=1&y=2"
curl --version
wget -qO- https://example.org
wget -q -O - https://example.org | head
wget --spider https://example.org
wget --version
echo "a" | tr a b
echo $((1+2))
echo $?
echo "$PWD"
echo -e "a\nb"
echo -n x
echo ${HOME}
echo "${USER:-nobody}"
echo "Done!"
echo *
echo {1..5}
echo "$(date)"
echo `date`
echo "a" >&2
echo 'it'\''s'
printf '%s\n' "$X"
printf "%d\n" 5
printf '%s: %s\n' a b
printf 'a\tb\n' | cut -f2
pwd -P
basename "$PWD"
dirname "$0"
realpath .
readlink -f "$0"
test -d src
test -z "$X" && echo empty
test "$A" = "$B"
[ -f a ] && cat a
[ "$A" = x ] || echo no
[[ -n $X ]] && echo set
[[ $A == b* ]] && echo yes
[ -e a -a -e b ]
cd src
cd src/app && ls
cd "src dir"
cd ./a/b; ls
cd src && npm test
cd packages/a && npm test && cd -
pushd src && ls && popd
export FOO=bar
export NODE_ENV=production && npm run build
FOO=bar npm test
DEBUG=1 npm test
FORCE_COLOR=0 npm test
CI=true npm test -- --watchAll=false
PORT=3000 npm start
RUST_LOG=debug cargo run
RUST_BACKTRACE=full cargo test
PYTHONUNBUFFERED=1 python app.py
PYTHONDONTWRITEBYTECODE=1 pytest
DJANGO_SETTINGS_MODULE=x.settings pytest
DATABASE_URL=sqlite:///x pytest
GOOS=linux GOARCH=amd64 go build ./...
CGO_ENABLED=0 go build
LC_ALL=C sort f
LANG=C ls
TZ=UTC date
NO_COLOR=1 ls
TERM=dumb ls
COLUMNS=200 ls
VERBOSE=1 make
env FOO=bar npm test
env -u FOO npm test
time npm test
time ls
timeout 30 npm test
timeout 10s ls
timeout --preserve-status 5 ls
nohup npm start &
nice npm test
for i in 1 2 3; do echo $i; done
for f in src/*.ts; do echo "$f"; head -1 "$f"; done
for i in $(seq 1 5); do echo $i; done
for i in {1..3}; do npm test; done
for f in $(git ls-files '*.py'); do wc -l "$f"; done
for ((i=0; i<3; i++)); do echo $i; done
while true; do ls; sleep 1; done
while read -r f; do wc -l "$f"; done < list.txt
until curl -s localhost:3000; do sleep 1; done
if [ -d a ]; then ls a; else echo none; fi
if git diff --quiet; then echo clean; fi
if command -v rg >/dev/null 2>&1; then rg foo; else grep foo .; fi
case "$1" in a) echo a;; *) echo b;; esac
x=$(ls | wc -l); echo "$x"
V=$(git describe); echo $V
count=$(grep -c foo f); echo "count: $count"
files=$(find . -name '*.py'); echo "$files"
a=1; b=2; echo $((a+b))
ls; pwd; date
ls || true
ls &
npm run dev & sleep 5; curl -s localhost:3000
npm start > /dev/null 2>&1 &
(ls; pwd)
{ ls; pwd; }
! ls nofile
wait
sleep 1
sleep 0.5 && ls
true && false || echo x
set -x; ls
set -euo pipefail; ls
set -o pipefail; npm test | tail
xargs -n 1 echo < f
xargs -I{} echo {} < f
echo a b | xargs
ls *.py | xargs wc -l
cat list | xargs -P4 -I% wc -l %
git ls-files | xargs grep -n TODO
tree
tree -a -L 3
tree -I 'node_modules|.git' -L 2
tree src --dirsfirst
tree -d
tree -J
tree --du -h
tree -P '*.py'
tree -fi
less f
more f
man ls
man 2 open
man -k foo
history
history | tail
alias
jobs
fg
umask
ulimit -a
mkdir a
mkdir -p a/b/c
mkdir -p src/{a,b}
touch a b
cp a b
cp -r a b
cp -a src dst
mv a b
mv src/a.py src/b.py
rm a
rm -rf build
rm -f *.pyc
rmdir a
ln -s a b
tar tf a.tar
tar -tzf a.tgz
tar czf a.tgz src
tar -cvf a.tar a
unzip -l a.zip
zipinfo a.zip
gzip -l a.gz
zcat a.gz
gunzip -c a.gz
xzcat a.xz
zstdcat a.zst
gzip -dc a.gz
tee /dev/null < f
ls | tee /dev/stderr
openssl version
openssl x509 -in c.pem -text -noout
openssl dgst -sha256 f
openssl rand -base64 32
ssh -V
ssh-keygen -l -f key.pub
gpg --version
gpg --verify a.sig a
sqlite3 a.db "select * from t limit 5"
sqlite3 a.db .schema
sqlite3 -header -column a.db 'select 1'
psql --version
psql -l
psql -d db -c 'select 1'
psql -U postgres -h localhost -d db -c '\dt'
mysql --version
mysqladmin status
redis-cli ping
redis-cli get x
redis-cli keys '*'
mongosh --version
node --check a.js
node app.js
node ./scripts/build.mjs --flag
node --experimental-vm-modules node_modules/.bin/jest
node --max-old-space-size=4096 x.js
node --inspect x.js
node --trace-warnings x.js
tsc -p tsconfig.json
tsc --noEmit -p .
tsc -w
tsc --build
tsx src/index.ts
ts-node src/index.ts
eslint --ext .ts src
prettier --check src
prettier --list-different .
jest --coverage
jest -t 'x'
vitest
vitest run src/a.test.ts
mocha
mocha test/*.js
vite build
next build
next dev
webpack --mode production
turbo run build
nx test web
nx run-many -t build
lerna run test
biome check .
oxlint
stylelint '**/*.css'
playwright test
playwright test --project=chromium
cypress run
storybook build
ng build
ng test
vue-cli-service build
tox
tox -e py311
nox -s tests
nox -l
pre-commit run --all-files
hatch run test
hatch env show
pdm install
pdm run test
poetry show
poetry show --tree
poetry lock
poetry update
poetry env info
poetry check
poetry --version
uv run pytest
uv run python -m pytest
uv run ruff check
uv pip list
uv pip install -r requirements.txt
uv sync --all-extras
uv tree
uv --version
uv lock --check
uv venv
uv add --dev pytest
pipenv run pytest
pipenv sync
conda list
conda env list
conda info
ruff check src --fix
ruff check --select E,F .
ruff format --check .
ruff --version
black src tests
black --diff .
isort --check-only .
mypy --ignore-missing-imports src
mypy -p pkg
pyright src
flake8 --max-line-length=100 src
pylint src
pylint --disable=C0114 src
bandit -r src
coverage report
coverage html
coverage run -m pytest
sphinx-build -b html docs docs/_build
mkdocs build
twine check dist/*
shellcheck run.sh
shellcheck -x *.sh
hadolint Dockerfile
yamllint .
actionlint
markdownlint '**/*.md'
cloc .
tokei
scc
hyperfine 'ls'
fd -e py
fd foo src
fd -t f -e ts
fd -H foo
fdfind foo
bat f
bat -n f
bat --style=plain f
bat -A f
batcat f
delta a b
exa -la
eza --tree
dust
duf
htop
glow README.md
clang -fsyntax-only a.c
clang-format --dry-run a.c
clang-format -style=file a.c
clang-tidy a.c -- -Iinclude
gdb --version
valgrind --version
ldd bin/app
nm -C a.o
objdump -d a.o
readelf -h a.out
size a.out
ar t a.a
strip --version
systemctl status nginx
systemctl list-units
systemctl is-active nginx
journalctl -u nginx -n 50
journalctl --since '1 hour ago'
dmesg | tail
ansible --version
ansible-lint
ansible-playbook --syntax-check x.yml
ffmpeg -version
ffprobe -v error -show_format a.mp4
identify a.png
convert --version
pandoc --version
pdftotext a.pdf -
code --version
brew list
brew --version
brew info jq
apt list --installed
apt-cache search jq
apt-cache policy jq
apt search jq
dpkg -l | grep foo
dpkg -L jq
dpkg -s jq
rpm -qa
rpm -q jq
apk info
pacman -Q
pacman -Qi jq
snap list
nvm ls
nvm current
asdf list
mise ls
volta list
pyenv versions
rbenv versions
xcodebuild -list
xcrun simctl list
adb devices
fastlane lanes
pod install
react-native --version
expo --version
vercel --version
netlify status
heroku logs
heroku apps
firebase --version
supabase status
prisma generate
prisma migrate dev
drizzle-kit generate
alembic upgrade head
alembic history
flask run
flask routes
uvicorn app:app --reload
gunicorn app:app
celery -A app worker
django-admin --version
streamlit run app.py
jupyter --version
nvidia-smi
nvcc --version
protoc --version
protoc --go_out=. a.proto
buf lint
sqlc generate
swag init
mockgen -source=a.go
wire ./...
air
dlv version
pnpm exec eslint .
npx eslint .
npx jest
npx vitest run
npx prettier --check .
bunx tsc
"""

MORE_THAN_THEIR_PROGRAM = r"""
git -c core.pager=make log
git -c pager.log=make log
git -c core.sshCommand=make fetch
git -c diff.external=make diff
git -c core.editor=make commit
git -c sequence.editor=make rebase -i HEAD~2
git -c core.hooksPath=/tmp/x commit -m x
git -c core.fsmonitor=make status
git -c credential.helper=make fetch
git -c gpg.program=make commit -S -m x
git -c filter.x.clean=make add f
git -c merge.x.driver=make merge m
git -c protocol.ext.allow=always fetch
git -c uploadpack.packObjectsHook=make fetch
git -c include.path=/tmp/x status
git -c interactive.diffFilter=make add -p
git -c difftool.x.cmd=make difftool -t x
git -c web.browser=make help -w log
git -c init.templateDir=x init
git -c trailer.x.command=make interpret-trailers
git -c url.ext::make.insteadOf=https://x fetch
git -c "alias.st=!make" st
git --config-env=alias.x=FOO x
git --config-env alias.x=FOO x
git --exec-path=/tmp status
git --git-dir=/tmp/x status
git --git-dir /tmp/x log
git --work-tree=/tmp checkout .
git -C /tmp/evil status
git -C ../other log
git -C ~/x status
git -C "$X" status
git log --ext-diff -p
git log --textconv -p
git show --ext-diff
git log --output=/home/u/.bashrc
git log --output /home/u/.bashrc
git log --outp=x
git diff --output=x
git show --output=x
git format-patch -o /tmp HEAD~1
git format-patch -1 --output-directory=/tmp
git archive -o x.tar HEAD
git archive --output=x.tar HEAD
git archive --remote=ssh://x --exec=make HEAD
git archive --remote=ext::make HEAD
git bundle create x HEAD
git diagnose -o /tmp
git bugreport -o /tmp
git fast-export --export-marks=x HEAD
git fast-import --export-marks=x
git checkout-index --prefix=/tmp/ -a
git checkout-index -a --prefix /tmp/
git read-tree --index-output=/home/u/x HEAD
git apply --unsafe-paths x.patch
git apply --unsafe-paths --directory=/ x.patch
git mailinfo a b
git mailsplit -o/tmp x
git worktree add /tmp/x
git clone . /tmp/x
git clone --separate-git-dir=/tmp/x . d
git clone -c core.sshCommand=make . d
git clone --config=core.sshCommand=make . d
git clone --upload-pack=make . d
git clone -u make . d
git clone --template=x . d
git clone ext::make d
git clone 'ext::sh -c make% x' d
git clone -- ext::make d
git clone fd::3 d
git clone --recurse-submodules --reference=x ext::make d
git init /tmp/x
git init --template x
git init --separate-git-dir=/tmp/x
git fetch --upload-pack make .
git fetch --upload-pack=make .
git fetch ext::make
git pull ext::make
git pull --upload-pack=make
git push --receive-pack=make .
git push --exec=make .
git push ext::make HEAD
git ls-remote --upload-pack=make .
git ls-remote --exec=make .
git ls-remote ext::make
git remote add x ext::make
git remote set-url origin ext::make
git submodule add ext::make d
git submodule add ./x
git submodule foreach 'make x'
git submodule --quiet foreach make
git submodule update --checkout --recursive --init --remote ext::x
git rebase -x make HEAD~2
git rebase --exec make HEAD~2
git rebase -i HEAD~2
git rebase --interactive HEAD~2
git rebase -ix make HEAD~2
git bisect run sh -c make
git bisect visualize make
git bisect view
git filter-branch --tree-filter make HEAD
git filter-branch --env-filter make
git difftool -x make
git difftool -y --extcmd=make
git mergetool
git mergetool --tool=x
git grep -O make
git grep --open-files-in-pager x
git grep --textconv x
git blame --textconv f
git cat-file --textconv HEAD:f
git cat-file --filters HEAD:f
git config --global alias.x '!make'
git config --add core.hooksPath x
git config set core.pager make
git config --unset core.pager
git config --replace-all core.pager make
git config -e
git config --edit
git config edit
git config --file=x core.pager make
git config -f x a.b c
git config --system core.editor make
git config --rename-section a b
git config rename-section a b
git config --local core.sshCommand make
git config --worktree core.pager make
git config core.pager=make x
git hook run pre-commit
git maintenance start
git daemon --export-all
git gui
git citool
gitk
git send-email --to x x.patch
git send-email --sendmail-cmd=make x
git imap-send
git credential-store get
git credential-cache exit
git merge-index make -a
git merge-one-file a b c
git svn rebase
git cvsimport
git archimport
git cvsserver
git http-backend
git shell -c make
git upload-pack .
git receive-pack .
git upload-archive .
git remote-ext x make
git remote-https x
git for-each-repo --config=x make
git for-each-repo --config x status
git column --command=make
git st
git co main
git foo bar
git lfs pull
git flow init
git merge -s foo main
git merge --strategy=foo main
git rebase --strategy=foo main
git rebase -s foo
git pull -s foo
git interpret-trailers --trailer x f
git interpret-trailers --in-place f
git worktree add --orphan /tmp/x
git quiltimport
git fetch --upload-p=make .
git push --receive-p=make .
git rebase --ex make HEAD~1
git grep --open-files=make x
find . -exec make \;
find . -execdir make \;
find . -ok make \;
find . -okdir make \;
find . -type f -exec sh -c 'make' \;
find . -name x -o -exec make \;
find -exec make \;
find . -exec env make \;
find . -exec {} \;
find . -exec "$X" \;
find . -name x -delete
find . -fprint x
find . -fprint0 x
find . -fprintf x %p
find . -fls x
find "$X"
find . $X
find . -name a -o $X
find . -files0-from f $X
fd . -x make
fd . -X make
fd . --exec make
fd . --exec-batch make
fd . --exec=make
fd -HIx make
fd -tf . -x make {}
rg x --pre=make
rg --pre-glob '*' --pre make x
rg --hostname-bin=make --hyperlink-format=default x
rg "$X" --pre=make
sort -o x f
sort f -o x
sort -ox f
sort --output=x f
sort --out x f
sort -uo x f
sort -no x f
sort -t, -k1 -o x f
sort f -t o -o x
sort --compress-program=make f
sort --compress-prog make f
sort -T /tmp -o f f
sort $X f
uniq -c a b
uniq -f 1 a b
uniq - b
uniq a -c b
split f
split -l 10 f
split --filter=make f
split -l1 --filter 'make' f
csplit f 1
shuf -o x f
shuf --output=x f
shuf f -o x
tee x
tee -a x
tee /dev/null x
tee ~/.bashrc
truncate --size=0 f
dd of=x
install a /usr/bin/b
install -m 755 a ../b
install -t /tmp a
cp a /home/u/.bashrc
cp a ../b
cp a ~/b
cp -t /tmp a
cp --target-directory=/tmp a
cp a .git/hooks/pre-commit
cp a .git/config
cp -r x .vscode
cp a .GIT/hooks/x
cp a "$X"
mv a /tmp/b
mv a .gemini/settings.json
mv -t .. a
ln -s /etc/passwd x
ln a /tmp/b
ln -sf ../x y
cp --parents a /tmp
cp -at /tmp a
rm -rf /*
rm -rf .
rm -rf ../x
rm -rf /home/u/x
rm -rf "$X"/
rm -rf $X/*
rm -r --no-preserve-root /
rmdir ../x
mkdir -p .git/hooks
mkdir /etc/x
mkdir ~/.ssh
touch .git/hooks/x
touch ~/.bashrc
touch /etc/x
chmod +x f
chmod 777 /
chown u f
chgrp g f
setfacl -m u:x:rw f
ln -s a .git/hooks/x
unlink /etc/x
link a /tmp/b
sed '1e make' f
sed 'e make' f
sed -n '1e' f
sed 's/x/make/e' f
sed 's/x/make/ge' f
sed 's/x/make/pe' f
sed 's/x/make/2e' f
sed -e p -e 'e make' f
sed -n -e 's,x,make,e' f
sed --expression='s/x/make/e' f
sed --expression 'e make' f
sed --expr='e make' f
sed -ne 'e make' f
sed -nE '1e make' f
sed -s 'e make' f
sed -f x.sed f
sed --file=x f
sed -nf x f
sed -n "$X" f
sed "s/a/$X/" f
sed "s/a/b/$X" f
sed 's/[/X/;/]/a /e' f
sed 's/[/X/;/]/i make/e' f
sed 's/[^/]/x/;s/[/y/;/]/c make/e' f
sed -i s/a/b/ f
sed -i.bak s/a/b/ f
sed --in-place=.bak s/a/b/ f
sed -Ei s/a/b/ f
sed -n -i p f
sed s/a/b/ -i f
sed -n 'w x' f
sed 's/a/b/w x' f
sed 's/a/b/gw x' f
sed -n '/a/w x' f
sed 'W x' f
sed -n '1,5w /tmp/x' f
sed "w $X" f
sed --in-pl s/a/b/ f
sed s/a/b/ f -i
sed -z -i s/a/b/ f
sed -e 'p;w x' f
sed -e p -e 'w x' f
sed -n '\,x,w y' f
sed -s -e 's/a/b/' -i f
awk 'BEGIN { system ("make") }'
awk '{print | "make"}' f
awk '{print $0 |"make"}' f
awk '{printf "x" | "make"}' f
awk 'BEGIN{"make" | getline}'
awk 'BEGIN{"make"|getline x}'
awk 'BEGIN{while(("make"|getline l)>0) print l}'
gawk 'BEGIN{print "x" |& "make"}'
gawk -i inplace '{print}' f
gawk -l ext 'BEGIN{}'
gawk -E x
gawk --exec=x
gawk --file x
gawk -fx f
gawk --source 'BEGIN{system("make")}'
gawk --source='BEGIN{system("make")}'
awk -f x.awk f
awk -vx=1 -f x.awk f
awk -F: -f x f
awk "$X" f
awk -v 'x=1' 'BEGIN{system(x)}'
awk -- 'BEGIN{system("make")}'
mawk 'BEGIN{system("make")}'
mawk -W exec x
mawk -We x
nawk 'BEGIN{system("make")}'
busybox awk 'BEGIN{system("make")}'
awk '{print > "x"}' f
awk '{print >"x"}' f
awk '{print >> "x"}' f
awk '{printf "a" > "x"}' f
awk '{print > $1}' f
awk '{print $1, $2 > FILENAME ".out"}' f
awk '{print(1) > "x"}' f
awk '{print (1)(2) > "x"}' f
awk 'BEGIN{printf("%s", "a") > "x"}'
awk -v f=x '{print > f}' f
gawk -o x '{print}'
gawk -ox '{print}'
gawk -p 'BEGIN{}'
gawk -px 'BEGIN{}'
gawk -dx 'BEGIN{}'
gawk --dump-variables=x 'BEGIN{}'
gawk --profile=x 'BEGIN{}'
gawk --pretty-print=x 'BEGIN{}'
gawk --debug 'BEGIN{}'
gawk -D 'BEGIN{}'
tar -cf a --checkpoint=1 --checkpoint-action=exec=make f
tar cf a -I make f
tar -Imake -cf a f
tar --use-compress-program=make -cf a f
tar --use-compress-program make -xf a
tar -cf a --rsh-command=make f
tar -cf h:a --rmt-command=make f
tar cFf make a
tar -F make -cf a f
tar -cf a f --checkpoint-action='exec=make'
tar -cf a f --use-compress=make
tar xf a --to-comm make
tar -xzf a -C /
tar -xvf a
tar --get -f a
tar -cf /etc/x f
tar cf ../x f
tar -cf ~/x f
tar --create --file=/tmp/x f
tar cf a --remove-files f
tar -P -xf a
tar cf a -g snap f
tar --listed-incremental=snap -cf a f
tar cf a --index-file=x f
zip a b -T -TT make
zip -TT make a b
zip a b --unzip-command make -T
zip -m a b
unzip -o a
unzip a -d /tmp
7z e a
7z a a.7z f
7za x a
unrar x a
cpio -o -O x
ar r a.a b
ar x a.a
ar d a.a b
gunzip -f f.gz
zstd -o x f
patch -p1 -i x
patch f x
patch -p1 -e x
iconv -f a -t b -o x f
iconv -o x f
base64 -o x f
xxd f x
xxd -r f x
xxd -r f
diff --output=x a b
pr --output=x f
tree -o x
tree -R -H . -o x
tree -aox
jq -f x f
jq --from-file x f
jq -L x . f
jq 'input_line_number' --rawfile a b -f x
yq -i .a=1 f
yq --inplace .a=1 f
yq eval -i .a=1 f
yq -s .a f
yq --split-exp .a f
yq --split-exp-file x f
yq '.a = load("x")' -i f
yq --from-file x f
dos2unix f
unix2dos f
csplit -f x f 1
strip a
ctags -R -f x .
etags f
cscope -b
rename s/a/b/ f
mkfifo x
mknod x p
logsave x ls
script x
script -c make x
script -qec make /dev/null
script --command=make x
script --command make x
scriptreplay x
ttyrec x
expect -c make
gh alias set x '!make'
gh alias set --shell x make
gh alias import f
gh extension install a/b
gh extension upgrade --all
gh extension create x
gh ext install a/b
gh config set pager make
gh config set browser make
gh config set git_protocol ssh
gh api -X POST repos/a/b/issues
gh api -XDELETE repos/a/b
gh api --method=DELETE repos/a/b
gh api repos/a/b -f x=y
gh api repos/a/b -F x=@f
gh api repos/a/b --input f
gh api repos/a/b --field x=y
gh api repos/a/b --raw-field x=y
gh api graphql -f query='mutation { x }'
gh api graphql -F query=@f
gh release upload v1 f
gh release download v1
gh release delete v1
gh repo delete a/b
gh repo create a
gh repo edit --visibility public
gh secret set X
gh secret set X --body y
gh variable set X
gh auth login
gh auth setup-git
gh ssh-key add f
gh gpg-key add f
gh workflow disable x
gh run rerun 1
gh run cancel 1
gh run download 1
gh codespace ssh -- make
gh cs ssh
gh copilot suggest x
gh repo clone a/b -- -c core.sshCommand=make
gh repo clone a/b -- --config=core.sshCommand=make
gh repo clone a/b -- --upload-pack=make
gh cache delete x
gh repo sync --force
gh repo deploy-key add f
gh issue delete 1
gh issue transfer 1 a/b
gh label delete x
fd . --exec-batch=make
fd -x make -- x
fd . -0x make
bat --paging=always --pager 'make' f
bat --config-file=x f
bat --config-dir=x f
batcat --pager=make f
delta --pager make a b
delta --pager=make a b
hyperfine -w 3 make
hyperfine -p make ls
hyperfine --setup make ls
hyperfine -s make ls
hyperfine --cleanup make ls
hyperfine -c make ls
hyperfine --conclude make ls
hyperfine -S make ls
hyperfine --shell=make ls
hyperfine -N make
hyperfine ls make
hyperfine --reference make ls
hyperfine -L x a,b 'make {x}'
hyperfine --export-json x ls
hyperfine --export-markdown x ls
hyperfine --output x ls
parallel make ::: a
parallel -j4 make ::: a
parallel < f
parallel make < f
parallel --pipe make
parallel --sshlogin h make ::: a
parallel -S h make ::: a
parallel --tmuxpane make ::: a
parallel {} ::: make
parallel 'make {}' ::: a
parallel -a f make
cat f | parallel
sem make
ls | entr make
ls | entr -r make
ls | entr -s 'make x'
ls | entr -c make /_
watchexec -e py make
watchexec -- make
watchexec --shell=bash 'make'
watch -n 1 make
watch -d 'make x'
watch --interval 1 make
watch -x make
watch --exec make
watch -n1 -x -- make
just --shell-arg -c make
just --justfile=x y
just -c make
just --choose --chooser make
just --chooser=make --choose
just -e
just --edit
just --init
just -d /tmp -f x
just --working-directory /tmp y
just -g x
just --global-justfile x
just --dotenv-path x y
just --fmt
task --taskfile=x
task -d /tmp
task --dir /tmp
task -g x
task --global x
bazel run --run_under=make //x
bazel run //x --run_under=make
bazel test --run_under make //x
bazel --output_base=/tmp/x build
bazel --server_javabase=x build
bazel --host_jvm_args=-agentpath:x build
bazel build --action_env=PATH=/tmp //x
bazel build --override_repository=a=/tmp/x //x
bazel build --override_module=a=/tmp/x //x
bazel build --workspace_status_command=make //x
bazel build --shell_executable=make //x
bazel build --spawn_strategy=local --strategy=x=y --credential_helper=make //x
bazel build --remote_executor=grpc://x //x
bazel mobile-install --adb make //x
bazel build --python_path=make //x
bazel fetch --repo_env=PATH=/tmp //x
bazel build --symlink_prefix=/tmp/x //x
cmake -P x.cmake
cmake -Px.cmake
cmake -E chdir d make
cmake -E copy a b
cmake -C x.cmake .
cmake -DCMAKE_C_COMPILER=make .
cmake -DCMAKE_CXX_COMPILER:FILEPATH=make .
cmake -D CMAKE_C_COMPILER_LAUNCHER=make .
cmake -DCMAKE_TOOLCHAIN_FILE=x .
cmake -DCMAKE_MAKE_PROGRAM=make .
cmake -DCMAKE_PROJECT_INCLUDE=x .
cmake -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=x .
cmake -DCMAKE_MODULE_PATH=x .
cmake -DGIT_EXECUTABLE=make .
cmake -DPYTHON_EXECUTABLE=make .
cmake -DPython3_EXECUTABLE=make .
cmake --install build --prefix /tmp
cmake --graphviz=x .
cmake --trace-redirect=x .
cmake --profiling-output=x --profiling-format=google-trace .
ctest -S x.cmake
ctest --build-and-test a b --build-generator x
ctest -SP x
ctest --launch make
ctest --output-junit x
ctest -O x
ctest --output-log x
ctest -M Nightly -T Submit
ninja -f x.ninja
ninja -t clean
meson setup --cross-file x b
meson setup --native-file=x b
meson devenv -C b make
meson test --wrap make
meson test --wrapper=make
meson test --wrapper 'make'
meson test --gdb --gdb-path make
meson wrap install x
meson subprojects foreach make
meson dist
meson rewrite x
gradle -I x
gradle --init-script=x build
gradle -b x
gradle -p /tmp/x build
gradle --project-dir=/tmp/x build
gradle -g /tmp/x build
gradle --gradle-user-home=/tmp build
gradle --include-build /tmp/x build
gradle -Dorg.gradle.java.home=/tmp build
gradle -c x
gradle --settings-file=x
gradle publish
gradle -Pandroid.injected.x=y publishToMavenLocal
gradle --project-cache-dir /tmp build
mvn --file=x test
mvn --settings=x test
mvn exec:java -Dexec.mainClass=x
mvn org.codehaus.mojo:exec-maven-plugin:3.0.0:exec -Dexec.executable=make
mvn dependency:get -Dartifact=x
mvn -l x test
mvn --log-file x test
mvn archetype:generate -DarchetypeArtifactId=x
mvn antrun:run
mvn groovy:execute -Dsource=x
mvn -t x test
mvn -Dmaven.repo.local=/tmp test
mvn -DargLine=-javaagent:x test
mvn -Djvm=make test
sbt 'set x := y'
sbt 'eval "make".!'
sbt -J-agentpath:x test
sbt --java-home /tmp test
sbt -Dsbt.boot.directory=x test
sbt console
sbt --sbt-jar x
sbt @x
go run x.go
go run example.org/x@latest
go generate ./...
go build -toolexec=make ./...
go build --toolexec=make
go test -exec make
go test -exec=make ./...
go test --exec make
go vet --vettool make
go build -ldflags=-extld=make
go build -ldflags '-extld make'
go build -ldflags "-linkmode=external -extld=make"
go build -gccgoflags=x
go build -gcflags=-x
go build -asmflags=-x
go build -overlay x
go build -modfile=x
go build -C /tmp/x
go -C /tmp/x build
go env -w GOFLAGS=-toolexec=make
go env -u CC
go install example.org/x@latest
go get -tool example.org/x
go tool pprof -http=: x
go tool compile x.go
go tool link x
go tool dist test
go work use /tmp/x
go mod edit -replace=a=/tmp/x
go build -o /tmp/x
go build -o x
go test -coverprofile=/tmp/x
go test -cpuprofile x
go test -memprofile=x
go test -trace x
go test -outputdir /tmp -cpuprofile x
go tool cover -html=c -o x
gofmt -w .
gofmt -cpuprofile x f
goimports -w .
goimports -local x -w .
golangci-lint run -c x
golangci-lint run --config=x
golangci-lint run --fix
golangci-lint fmt
golangci-lint custom
dlv exec ./x
dlv debug
cargo --config 'build.rustc-wrapper="make"' build
cargo --config build.rustc="make" build
cargo build --config x=y
cargo +nightly build
cargo -C /tmp/x build
cargo build --manifest-path /tmp/x/Cargo.toml
cargo build --manifest-path=/tmp/x
cargo run --manifest-path /tmp/x
cargo install --git https://x
cargo install --path .
cargo rustdoc -- --test-builder make
cargo watch -x test -s make
cargo watch -s make
cargo watch -- make
cargo xtask build
cargo fuzz run x
cargo make x
cargo script x
cargo binstall x
cargo owner --add x
cargo yank --version 1
cargo login x
cargo build --target-dir /tmp
cargo build --artifact-dir=/tmp -Z x
cargo build --out-dir /tmp
cargo miri run
rustup run stable make
rustup toolchain link x /tmp
rustup toolchain install x
rustup default nightly
rustup override set x
rustup self update
rustup set profile x
rustc --codegen linker=make x.rs
rustc --codegen=linker=make x.rs
rustc -o x y.rs
rustc --out-dir /tmp y.rs
rustc -Zx y.rs
rustc --emit=asm=/tmp/x y.rs
rustc --sysroot x y.rs
rustc -L native=/tmp x.rs
rustc @args
dotnet exec x.dll
dotnet tool install -g x
dotnet tool run x
dotnet tool restore
dotnet nuget push x
dotnet nuget add source x
dotnet msbuild -t:x
dotnet msbuild x.proj
dotnet build -logger:x.dll
dotnet build /logger:x.dll
dotnet build -p:CustomBeforeMicrosoftCommonTargets=x
dotnet test --test-adapter-path /tmp
dotnet test --settings x
dotnet test -s x
dotnet fsi x.fsx
dotnet fsi --exec x
dotnet workload install x
dotnet new install x
dotnet --roll-forward x y.dll
dotnet --additionalprobingpath x y.dll
dotnet --depsfile x exec y.dll
dotnet watch run
dotnet dev-certs https
dotnet publish -o /tmp
dotnet build -o /tmp
swift -e x
swift repl
swift run --package-path /tmp/x
swift build --package-path=/tmp/x
swift build -Xcc -fplugin=x
swift build -Xlinker x
swift build -Xswiftc -load-plugin-library
swift build --toolchain x
swift package plugin x
swift package --allow-writing-to-directory / x
swift package --disable-sandbox x
swift build --disable-sandbox
swift build --scratch-path /tmp
swift package init
swiftc -load-plugin-executable x y.swift
bundle config set x y
bundle plugin install x
bundle install --path /tmp
bundle install --gemfile=/tmp/x
bundle gem x
bundle init
bundle viz
rake --rakefile=x
rake -e make
rake -I x
rake -E x
rake -p x
rake -N -f x
rake -g x
rake -C /tmp
rspec -r x
rspec --require=x
rspec -I x
rspec -o x
rspec --out x
rspec -f X -r x
rspec -O x
rspec --options x
gem update
gem uninstall x
gem open x
gem --config-file x list
gem cert --add x
gem unpack x
rails runner x
rails r 'make'
rails new x
rails console
rails c
rails dbconsole
rails app:template LOCATION=x
rails destroy model X
rails credentials:edit
composer -d /tmp x
composer --working-dir=/tmp x
composer config x y
composer create-project x
composer self-update
composer archive
composer browse x
php -d auto_prepend_file=x y.php
php -F x
php -S localhost:1
php -c /tmp x.php
php -z x y.php
php -e
php -dx=y z.php
php < x
php -
php artisan tinker
php artisan tinker --execute=x
poetry run sh -c make
poetry config x y
poetry shell
poetry -C /tmp x
poetry -P /tmp x
poetry source add x y
poetry env use x
uv run make
uv run -- make
uv run -p 3.12 make
uv run https://example.org/x.py
uv run -
uv run -m x
uv run --module x
uv run -s x
uv x
uv pip install --target /tmp x
uv pip install -t /tmp x
uv pip install --index-url x y
uv pip install -i x y
uv pip install --prefix /tmp x
uv pip install --python x y
uv pip install --system x --break-system-packages --prefix /x
uv self update
uv publish
uv --project /tmp sync
uv --directory /tmp sync
uv init /tmp/x
uv --config-file x sync
uv sync --config-file=x
uv build -o /tmp
uv export -o x
pdm config x y
pdm publish
pdm run -p /tmp make
pdm plugin add x
pdm self add x
pdm use x
pipx runpip x y
pipx inject a b
pipx upgrade-all
pipx ensurepath
conda run -n x make
conda run --no-capture-output -n x make
conda create -n x y
conda env create -f x
conda remove x
conda update x
conda config --set a b
conda config --add channels x
conda develop x
conda build x
conda init bash
mamba create -n x
micromamba run make
micromamba shell init
pixi run make
pixi exec make
pixi global install x
pixi shell
nox --noxfile=x
nox --noxfile x
tox --conf x
tox -x testenv.commands=make
tox --override=testenv.commands=make
tox exec -- make
tox e -- make
tox exec -e py -- make
tox --workdir /tmp
tox --root /tmp
tox devenv /tmp/x
tox quickstart
pre-commit run -c x
pre-commit run --config=x
pre-commit try-repo x
pre-commit install
pre-commit install --hook-type x
pre-commit autoupdate
pre-commit init-templatedir x
pre-commit hook-impl
pre-commit hazmat x make
terraform apply -auto-approve
terraform import a b
terraform -chdir=/tmp plan
terraform init -plugin-dir=/tmp
terraform init -from-module=x
terraform plan -out x
terraform plan -state-out=x
terraform plan -generate-config-out=x
terraform state mv a b
terraform state push x
terraform workspace delete x
terraform taint x
terraform untaint x
terraform force-unlock x
terraform login
terraform refresh
terraform test
terraform providers mirror /tmp
tofu destroy
terragrunt apply
terragrunt exec -- make
terragrunt --terragrunt-tfpath make plan
terragrunt plan --tf-path make
terragrunt hclfmt
packer init x
packer console
pulumi destroy
pulumi stack rm
pulumi plugin install x
pulumi -C /tmp preview
cdk deploy
cdk --app make synth
cdk synth -a make
cdk destroy
sam deploy
sam local invoke
sam build --hook-name x
serverless deploy
sls deploy
ansible localhost -a make
ansible-playbook x.yml
ansible-playbook -i x y.yml
ansible-playbook --ssh-common-args=x y
ansible-playbook x --ssh-extra-args y
ansible-inventory -i x --list
ansible-inventory --list --output x
ansible-config init
ansible-doc -M x y
aws s3 cp a s3://b
aws s3 rm s3://b
aws s3 sync a s3://b
aws ec2 run-instances
aws ssm start-session x
aws ssm send-command x
aws configure set a b
aws configure
aws iam create-user x
aws ecs execute-command x
aws s3api get-object --bucket b --key k out
aws --endpoint-url http://x s3 cp a b
aws sso login
aws secretsmanager get-secret-value --secret-id x
aws ssm get-parameter --name x --with-decryption
aws ecr get-login-password
aws sts assume-role x
aws sts get-session-token
gcloud compute ssh x --command make
gcloud compute scp a b
gcloud auth login
gcloud auth print-access-token
gcloud deploy x
gcloud run deploy x
gcloud functions call x
gcloud components install x
gcloud app deploy
gcloud compute instances delete x
gcloud secrets versions access latest --secret=x
gsutil rm x
gsutil rsync a b
az login
az account get-access-token
az group delete x
az extension add x
az vm create x
az ssh vm x
az webapp ssh
az rest --method post x
az keyvault secret show x
helm upgrade x y
helm delete x
helm rollback x
helm plugin update x
helm template --post-renderer=make x
helm template x --output-dir /tmp
helm push x y
helm pull x
helm pull x -d /tmp
helm package x -d /tmp
helm create x
helm repo add x y
helm registry login x
helm test x
helm secrets view x
kustomize build --enable-exec --enable-alpha-plugins x
kustomize build --enable-helm --helm-command make x
kustomize build --helm-command=make --enable-helm x
kustomize build -o x y
kustomize build --output=x y
kustomize edit add resource x
kustomize create
kustomize fn run x
kustomize localize x
psql -c '\copy x to program "make"'
psql -c "copy x to program 'make'"
psql -c "COPY x TO '/tmp/x'"
psql -c '\o |make'
psql -c '\o x'
psql -c '\i x'
psql -c '\g |make'
psql -c '\setenv PAGER make' -c 'select 1'
psql -c '\pset pager make'
psql -c '\e'
psql -c '\w x'
psql -c '\gexec'
psql -c '\lo_export 1 x'
psql -c "select lo_export(1, 'x')"
psql -c "select pg_read_file('x')"
psql --file=x
psql -o x
psql --output=x -c 'select 1'
psql -L x
psql -v x=y -f z
psql --set x=y
psql -X -f x
psql < x
psql -c "$X"
psql "service=x"
psql -c 'do $$ x $$'
psql -c 'create function x() returns int language plpython3u'
psql -c 'create extension x'
psql -c 'load $$x$$'
psql
mysql -e 'system make'
mysql -e 'select 1 into outfile "x"'
mysql -e "SELECT 1 INTO DUMPFILE 'x'"
mysql -e 'source x'
mysql -e '\. x'
mysql -e 'tee x'
mysql -e '\T x'
mysql -e 'pager make'
mysql -e '\P make'
mysql -e 'edit'
mysql -e 'load data local infile "x" into table y'
mysql --execute='\! make'
mysql --tee=x
mysql --defaults-file=x
mysql --defaults-extra-file=x
mysql -e "$X"
mysql < x
mysql
mysqldump --tab=/tmp x
mysqldump -T /tmp x
mysqldump -r x y
mysqldump --result-file=x y
mysqldump --defaults-file=x y
mysqladmin shutdown
mysqladmin drop x
pg_dump -f x
pg_dump --file=x
pg_dump -Fd -f x
pg_restore -d x y
pg_restore x
pg_ctl start
pg_ctl -o x start
pg_basebackup -D x
initdb x
createdb x
dropdb x
pgbench -f x
sqlite3 a.db '.shell make'
sqlite3 a.db '.system make'
sqlite3 a.db '.output x'
sqlite3 a.db '.once x'
sqlite3 a.db '.once |make'
sqlite3 a.db '.excel'
sqlite3 a.db '.read x'
sqlite3 a.db '.read |make'
sqlite3 a.db '.import "|make" t'
sqlite3 a.db '.load x'
sqlite3 a.db '.backup x'
sqlite3 a.db '.save x'
sqlite3 a.db '.clone x'
sqlite3 a.db '.log x'
sqlite3 a.db '.trace x'
sqlite3 a.db '.archive -x'
sqlite3 a.db '.open x'
sqlite3 a.db '.cd /tmp'
sqlite3 a.db '.edit'
sqlite3 a.db '.sh make'
sqlite3 a.db '.sys make'
sqlite3 a.db "select writefile('x', 'y')"
sqlite3 a.db "select load_extension('x')"
sqlite3 a.db "select edit('x')"
sqlite3 a.db "attach 'x' as y"
sqlite3 a.db "vacuum into 'x'"
sqlite3 -cmd '.shell make' a.db 'select 1'
sqlite3 -init x a.db
sqlite3 a.db
sqlite3 a.db < x
sqlite3 -A -x
sqlite3 a.db 'select 1' '.shell make'
redis-cli eval 'x' 0
redis-cli -h h eval x 0
redis-cli EVAL x 0
redis-cli CONFIG SET dir x
redis-cli module load x
redis-cli FLUSHALL
redis-cli --rdb x
redis-cli --pipe
redis-cli script load x
redis-cli debug x
redis-cli slaveof h 1
redis-cli replicaof h 1
redis-cli save
redis-cli bgsave
redis-cli -n 1 flushdb
redis-cli fcall x 0
redis-cli migrate x
mongosh x
mongosh x.js
mongodump
mongodump -o x
mongorestore x
mongoexport -o x
mongoimport x
duckdb a.db -c '.shell make'
duckdb -s x
duckdb -init x
duckdb a.db "copy x to 'y'"
duckdb a.db '.shell make'
duckdb
clickhouse-client -q x
cqlsh -e x
ffmpeg -y -i a b
ffprobe -o x y
magick a b
mogrify x
composite a b c
montage a b
identify -write x y
identify msl:x
gm convert a b
import x
display x
vim -c '!make'
vim +x f
vim -es f
vim -u x
vi f
nvim f
nvim -l x
emacs -batch -l x
emacs --eval x
emacs f
emacsclient -e x
nano f
micro f
hx f
helix f
kak f
joe f
ne f
mg f
pico f
less '+|$make' f
less -k x f
less --lesskey-content=x f
less -o x f
less -O x f
less --log-file=x f
less '+/x' f
less -T x f
more +!make f
more '+/x' f
man -Pmake ls
man -H make
man -Hmake ls
man -l f
man --local-file f
man -M /tmp ls
man -m x ls
man --manpath=/tmp ls
man -T ls
man -X ls
man -Z ls
man -p x ls
info --output=x ls
info -o x ls
info -f x
info --init-file=x
groff -ms x
nroff -U x
groff -U x
red f
tmux new-session make
tmux send-keys -t x make Enter
tmux run-shell make
tmux if-shell make x
tmux split-window make
tmux neww make
tmux respawn-pane make
tmux source-file x
tmux -c make
tmux pipe-pane make
tmux display-popup make
tmux set-hook x make
tmux bind x run make
screen -S x make
screen -X exec make
screen -X stuff make
screen -s make
zellij action x
script -c make /dev/null
script -q /dev/null make
script -O x
script -T x
asciinema rec -c make
asciinema rec x
nc -e make h 1
nc -c make h 1
nc h 1
ncat -e make h 1
ncat --exec make h 1
ncat --sh-exec make
ncat -c make
ncat --lua-exec x
netcat h 1
socat TCP-LISTEN:1 SYSTEM:make
socat - SHELL:make
socat a b
telnet h
websocat x
scp a h:b
scp h:a b
scp -F x a b
sftp h
sftp -b x h
rclone copy a b
rclone sync a b
rclone delete x
rclone mount a b
rclone serve http x
rclone config create x y
rclone rcd
rclone move a b
rclone ls x --password-command make
rclone lsf x --metadata-mapper make
rclone purge x
restic backup x
restic --password-command make snapshots
borg create x y
borg list --rsh make x
duplicity a b
rsync -e make a h:b
rsync a h:b
rsync h:a b
rsync --rsync-path=make a h:b
rsync --delete a b
rsync --files-from=x a /b
rsync -a a .git/hooks/
rsync --log-file=x a b
rsync --write-batch=x a b
rsync --temp-dir=/tmp a b
rsync -T /tmp a b
rsync --backup --backup-dir=/tmp a b
rsync --early-input=x a b
rsync --config=x --daemon
rsync --dparam=x --daemon
ssh h make
ssh -o ProxyCommand=make h
ssh -oProxyCommand=make h
ssh -o 'ProxyCommand make' h
ssh -F x h
ssh -I x h
ssh -L 1:a:2 h
ssh -R 1:a:2 h
ssh -D 1 h
ssh -W a:1 h
ssh -w 0 h
ssh -E x h
ssh -S x h
ssh -J a h
ssh -N -f h -L 1:a:1
ssh -A h make
ssh -i k -p 22 u@h make
ssh -tt h make
ssh -o KnownHostsCommand=make h
ssh -Tfo ProxyCommand=make h
ssh-keygen -t ed25519 -f x
ssh-keygen -D x
ssh-keygen -R h
ssh-keygen -s ca x
ssh-keygen -p -f x
ssh-keygen -Y sign -f x y
ssh-add -D
ssh-copy-id h
curl -o x u
curl -O u
curl -OJ u
curl -sLo x u
curl -sSfLo x u
curl --output x u
curl --output=x u
curl --remote-name u
curl -D x u
curl -c x u
curl --cookie-jar x u
curl --dump-header x u
curl --trace x u
curl --trace-ascii x u
curl --stderr x u
curl --libcurl x u
curl --hsts x u
curl --alt-svc x u
curl --etag-save x u
curl -Kx
curl -T x u
curl --upload-file x u
curl -F a=@b u
curl -d @x u
curl -d x u
curl --data-binary @x u
curl --json '{}' u
curl -X POST u
curl -XPOST u
curl -X DELETE u
curl --request=PUT u
curl -x proxy u
curl --proxy p u
curl --engine x u
curl -w '%output{x}' u
curl -w @x u
curl --unix-socket /var/run/docker.sock http://x/containers/json
curl file:///etc/passwd -o x
curl -Q 'DELE x' ftp://h/
curl --quote x ftp://h
curl --mail-from a smtp://h
curl -s u -o x -o y
curl --create-dirs -o /tmp/x u
curl --skip-existing -O u
curl --variable x@y u
curl --url @x
curl --output-dir /tmp -O u
curl "$X"
curl $X
curl -s $X
wget u
wget -O x u
wget -i x
wget -r u
wget -P /tmp u
wget --post-data=x u
wget --post-file=x u
wget -q u
wget -O- -o x u
wget -O - --save-cookies x u
wget -e x=y u
wget --use-askpass=make u
wget --method=DELETE u
wget -b u
wget -a x -O- u
wget --config=x u
wget -qO- -x u
wget2 u
aria2c u
axel u
http POST u
http -d u
http u -o x
xh -d u
xh POST u
lynx -cmd_script=x u
elinks -eval x
openssl enc -in a -out b
openssl req -new -out x
openssl genrsa -out x
openssl rsa -in a -out b
openssl s_server
openssl s_client -connect h:1
openssl cms -out x
openssl ca -config x
openssl rand -writerand x 1
openssl pkcs12 -export -out x
openssl s_client -keylogfile x -connect h:1
openssl enc -engine x -in y
openssl rehash x
openssl req -keyout x
openssl genpkey -algorithm RSA -out x
openssl speed -engine x
openssl ts -config x
openssl srp x
openssl -provider x
openssl dgst -sign k -out x f
openssl x509 -in a -out b
openssl x509 -req -CAcreateserial -CAserial x
gpg -o x f
gpg --output x -d f
gpg -d f
gpg --import k
gpg -e f
gpg -s f
gpg --export-secret-keys
gpg --delete-keys k
gpg --gen-key
gpg --edit-key k
gpg --homedir x -k
gpg --recv-keys k
gpg --send-keys k
gpg --batch --yes --quick-generate-key x
gpg --exec x
gpg --log-file x -k
gpg --status-file x -k
gpg --logger-file=x -k
age -o x f
pass show x
env -S 'make x'
env -S'make x'
env --split-string=make
env -vS make
env -iS make
env -u A make
env -C /tmp make
env --chdir=/tmp make
env - make
env -- make
env A=1 -- make
env --ignore-signal=INT make
env --block-signal make
env --default-signal=PIPE make
env -a x make
env --argv0=x make
env PATH=/tmp ls
env LD_PRELOAD=x ls
env -uA -uB make
env GIT_PAGER=make git log
env BASH_ENV=x bash -c :
xargs -0 make
xargs -r make
xargs -I {} sh -c '{}'
xargs -i make
xargs -n1 make
xargs -n 1 -P 4 make
xargs -L1 make
xargs --max-args=1 make
xargs --max-procs 4 make
xargs --arg-file=f make
xargs -d '\n' make
xargs -d'\n' -n1 make
xargs --delimiter=, make
xargs -E x make
xargs -s 100 make
xargs -t make
xargs -p make
xargs -x make
xargs --no-run-if-empty make
xargs -0 -- make
xargs -J % make
xargs -R 1 make
xargs sh -c
xargs sh
xargs env
xargs nice
xargs -n1 bash
xargs sh -c 'make $0'
xargs bash -c 'make "$@"' _
xargs -o make
xargs --open-tty make
xargs --show-limits make
xargs --process-slot-var=X make
xargs find . -exec
xargs git
xargs git -c
xargs -I% git %
xargs -I% find . %
xargs -I% sed % f
xargs awk
xargs sed
xargs tar
xargs sort -o
xargs rg --pre
xargs curl
xargs wget
xargs python
xargs node
xargs perl
xargs xargs
xargs timeout 5
xargs eval
xargs sudo
xargs ssh h
xargs docker run x
xargs git log --output
xargs tee
xargs -I% tee %
xargs cp -t /tmp
xargs -I% cp % /tmp
xargs -I% mv % ../x
xargs rm -rf
xargs -I% sh -c 'echo %'
xargs -I{} echo {} >x
printf x | xargs -I{} bash -c "{}"
python -c 'x'
python -cx
python -Ic x
python -mx
python -m venv x
python -m timeit x
python -m cProfile x.py
python -m json.tool a b
python -m compileall .
python -m zipfile -e a b
python -m webbrowser x
python < x
echo x | python
python /dev/stdin
python <(echo x)
python -W x::y -c z
python -X importtime -c z
python3.12 -c x
python2 -c x
pypy3 -c x
python -m coverage run -m x
python -m pytest -p x
python -m pytest -c x
python -m pytest --rootdir=/tmp
python3 -m mypy --config-file x
python -m pytest --junitxml=x
jupyter nbconvert --execute x
node --eval=x
node --require=x y
node --import=x y
node -
node < x
echo x | node
node --watch -e x
node --inspect-brk -e x
node --test --test-reporter=x
node --test --import x
node --cpu-prof --cpu-prof-dir=/tmp x
node --heap-prof --diagnostic-dir=/tmp x
node --report-directory=/tmp x
node --redirect-warnings=x y
node --trace-event-file-pattern=x y
node --build-snapshot x
node --experimental-config-file=x y
node --heapsnapshot-signal=x --diagnostic-dir=/t y
node --icu-data-dir=x y
node --tls-keylog=x y
node --preserve-symlinks -e x
node -C x -e y
node --conditions=x -e y
node --input-type=module -e x
node --input-type=module < x
deno run --allow-run=make x
deno run --allow-write x
deno run --allow-write=/ x
deno run --allow-sys --allow-env -A x
deno run -P x
deno https://x
deno run https://x
deno run npm:x
deno run jsr:x
deno run -
deno install -g x
deno compile -o x y
deno jupyter
deno upgrade
deno bench -A
deno task --eval make
deno task -c x y
deno run --preload=x y
deno publish
bun --eval=x
bun -p x
bun --print x
bun init
bun run --preload x y
bun --preload=x y
bun -
bun run -
bun upgrade
bun publish
bun install -g x
bun add -g x
bun build x --outfile y
bun build x --outdir=y
bun build --compile x
bun --config=x test
bun -c x test
bun test --preload x
bun --cwd /tmp test
bun link
bun patch x
perl -pe x f
perl -pi -e x f
perl -i x f
perl -dx y
perl -x f
perl -S x
perl -
perl < x
perl -we x
perl -0777 -ne x
perl -lane x f
perl -F: -ane x f
perl -T -e x
ruby -r x y
ruby -ne x
ruby -pi -e x f
ruby -x f
ruby -
ruby < x
ruby -ruri -e x
ruby --require=x y
ruby --yjit -e x
lua -
R --file=x
R -f x
R CMD INSTALL x
R CMD BATCH x
julia -E x
julia -L x
julia --project=/tmp -e x
julia --sysimage=x y
julia -J x y
julia -m x
elixir -S mix
elixir -r x
elixir --eval x
elixir --rpc-eval a x
iex -S mix
erl -s x
ghc -o x y
runghc -e x
stack ghc -- x
stack runghc x
stack script x
stack --stack-yaml=x build
stack build --exec make
cabal repl
cabal install x
cabal --config-file=x build
ocaml -e x
opam install x
dune exec x
dune build --root /tmp
nim c -r x
nim e x
nim --gcc.exe=make c x
crystal eval x
crystal run x
zig run x
zig build --build-file x
zig cc x
zig build-exe x
zig fetch x
zig init
zig test x --test-cmd make
zig build --zig-lib-dir x
dart pub global activate x
dart pub global run x
dart compile exe x
flutter create x
kotlinc -script x
kotlin -e x
clj -X x
bb -e x
lein run -m x
lein repl
lein do x
java -javaagent:x Y
java -agentlib:jdwp=x Y
java -XX:OnError=make X
java -XX:+UnlockX -XX:OnOutOfMemoryError="make" X
java @x
java -Xlog:gc:file=x Y
java -XX:HeapDumpPath=x Y
java -Djava.library.path=x Y
java -Xloggc:x Y
java -Xbootclasspath/a:x Y
java --source 21 x
javac -proc:only -processorpath x y
javac -J-javaagent:x y
javac -Xplugin:x y
javac @x
javac -cp x -processor y z
jar xf a
jar cf a b
jar uf a b
jar --extract --file a
jshell x
jshell -s
keytool -genkey
native-image x
ant -lib x
ant -Dx=y -buildfile z
ant -logfile x
ant -l x
ant -s x
scons -C /tmp
scons --sconstruct=x
waf configure
tup x
lerna exec make
lerna exec -- make
lerna publish
turbo run build --cwd=/tmp
turbo gen x
npm-run-all a
concurrently -n a make
run-p make
run-s make
cross-env A=1 make
dotenv run make
dotenvx run -- make
nodemon x
nodemon --exec make
tsx -r x y
swc x -o y
esbuild x --outfile=y
esbuild x --bundle --outdir=y
esbuild --servedir=x
babel x -o y
babel x --out-file y
babel x -d y
babel x --plugins y
babel --config-file x y
tsc --outDir /tmp
tsc --project /tmp
webpack --config x
webpack -c x
rollup -c x
rollup x -o y
rollup x -f cjs --file y
rollup -p x
vite --config x
vite build --outDir /tmp
jest --config x
jest --globalSetup x
jest --coverageDirectory=/tmp
jest --outputFile=x --json
jest --reporters x
jest --testRunner x
jest --runner x
jest --setupFiles x
jest --transform x
jest --rootDir=/tmp
jest --outputFile x
jest --cacheDirectory x
jest --env x
vitest --config x
vitest --root /tmp
vitest -c x
vitest run --reporter=x
vitest --environment x
vitest --outputFile=x
vitest --dir /tmp --config y
mocha -r x
mocha --require x
mocha --config x
mocha --reporter x
mocha -R x
mocha --ui x
mocha --import=x
mocha --loader=x
mocha -O output=x
ava --config x
nyc make
c8 make
playwright install
playwright codegen x
playwright test --config x
playwright test -c x
cypress open
cypress run --config-file x
cypress run -C x
eslint --rulesdir x
eslint -c x
eslint --config=x
eslint -o x
eslint --output-file x
eslint --fix .
eslint -f ./x.js .
eslint --format=./x .
eslint --plugin x
eslint --parser x
eslint --resolve-plugins-relative-to x
eslint --init
eslint --cache-location /tmp/x --cache .
prettier --write .
prettier -w .
prettier --plugin=x .
prettier --plugin x .
prettier --config x .
prettier --plugin-search-dir=x
stylelint --fix
stylelint --config x
stylelint --custom-formatter x
stylelint --custom-syntax x
stylelint -o x
biome check --write
biome format --write
biome check --apply
biome check --config-path x
standard --fix
xo --fix
rome format --write
ruff check --config x
ruff check --output-file x
ruff check -o x
ruff --config=x check
black --config x
isort --settings-path x
isort --settings-file x
mypy --config-file=x
mypy --python-executable=make
mypy --junit-xml=x
mypy --install-types
mypy --shadow-file a b
mypy --cache-dir=/x
pyright -p /tmp
pyright --project x
pyright --pythonpath make
pyright -v /tmp
pylint --load-plugins=x
pylint --init-hook=x
pylint --rcfile=x
pylint --output=x
pylint --init-h=x
flake8 --config=x
flake8 --append-config=x
flake8 --output-file=x
bandit -r . -o x
bandit -c x -r .
bandit --ini x
coverage run --rcfile=x y
coverage html -d /tmp
coverage xml -o x
coverage json -o x
coverage combine /tmp
coverage erase
sphinx-build -D extensions=x a b
sphinx-build -w x a b
sphinx-build -C -D x=y a b
mkdocs build -f x
mkdocs build -d /tmp
mkdocs serve
mkdocs gh-deploy
mkdocs new x
alembic -c x upgrade head
alembic --config x y
flask --app x shell
flask shell
flask -e x run
django-admin shell -c x
django-admin startproject x
django-admin test --settings=x --pythonpath /tmp
uvicorn --app-dir=/tmp a:b
uvicorn --factory x:y --log-config z
gunicorn -c x
gunicorn --config x
gunicorn --pythonpath /tmp a:b
gunicorn --chdir /tmp a:b
gunicorn -k x a:b
gunicorn --log-file x a:b
gunicorn --pid x a:b
gunicorn -D a:b
celery shell
celery -A x worker --logfile=y
celery --workdir=/tmp x
celery multi start x
pip install --target /tmp x
pip install -t /tmp x
pip install --prefix=/tmp x
pip install --root /tmp x
pip install --index-url=x y
pip install --extra-index-url x y
pip install -f x y
pip install --find-links x y
pip install --config-settings=x y
pip install -C x y
pip install --trusted-host x y
pip install --src /tmp -e x
pip install --log x y
pip --log x list
pip --proxy x install y
pip --cert x install y
pip --isolated install --report x y
pip install --report=x y
pip download -d /tmp x
pip download --dest /tmp x
pip wheel -w /tmp x
pip config set x y
pip config edit
pip config --editor make edit
pip config unset x
pip cache purge
pip install --break-system-packages --target=x y
pip install --user --prefix x y
pip install --cache-dir=/tmp x
pip --cache-dir /tmp install x
pip freeze > x
flit publish
hatch publish
hatch run python -c x
hatch env run make
hatch config set x y
hatch new x
hatch -p /tmp x
pipenv open x
pipenv install --python make
npm run x --script-shell=make
npm run x --script-shell make
npm --script-shell=make run x
npm exec make
npm exec -- make
npm exec -c make
npm exec --call=make
npm x make
npm x -c make
npm exec --package=x -- make
npm init @a/x
npm innit x
npm explore x make
npm config set x y
npm config set x=y
npm config delete x
npm config fix
npm set x y
npm set x=y
npm c set x y
npm pkg set scripts.x=make
npm pkg delete x
npm pkg fix
npm set-script x make
npm deprecate x y
npm owner add x y
npm access public
npm dist-tag add x y
npm token create
npm login
npm adduser
npm logout
npm profile set x y
npm hook add x
npm team x
npm star x
npm install --global x
npm i -g x
npm uninstall -g x
npm link x -g
npm --prefix /tmp test
npm --prefix=/tmp test
npm -C /tmp test
npm test --prefix /tmp
npm --userconfig=x test
npm --globalconfig x test
npm --node-options=x test
npm test --node-options='-r x'
npm --shell make install
npm install --git make
npm --editor=make edit x
npm --viewer=make help x
npm --browser=make docs x
npm --registry=http://x install y
npm install --registry http://x y
npm --cache=/tmp install
npm --init-module=x init
npm pack --pack-destination /tmp
npm fund --browser make
npm ci --script-shell=make
npm start --script-shell make
npm --script-sh=make test
npm install --ignore-scripts=false --script-shell=make
yarn run make
yarn node x
yarn node -e x
yarn global add x
yarn config set x y
yarn config delete x
yarn config unset x
yarn publish
yarn npm publish
yarn npm login
yarn --cwd /tmp test
yarn --cwd=/tmp test
yarn --use-yarnrc x test
yarn --modules-folder /tmp install
yarn --script-shell make test
yarn workspaces foreach exec make
yarn workspaces foreach -A exec make
yarn workspaces run make
yarn policies set-version x
yarn login
yarn pack --filename /tmp/x
pnpm -r exec make
pnpm -c exec make
pnpm -C /tmp test
pnpm --dir=/tmp test
pnpm config set x y
pnpm set x y
pnpm env use x
pnpm publish
pnpm add -g x
pnpm install -g x
pnpm --script-shell=make test
pnpm deploy x
pnpm setup
pnpm self-update
pnpm pkg set x=y
pnpm link -g x
pnpm start --script-shell make
npx -y x
npx --yes x
npx -p a b
npx --package=a b
npx -c make
npx --call make
npx --no-install x
npx ./x
npx github:a/b
npx make
bunx x
bunx --bun x
bunx make
uvx --from a b
uvx make
"""
