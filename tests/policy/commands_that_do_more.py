"""Arguments by which well-known programs run another program or write a file; they are only judged, never run.

`RUNS` run another program or code: a list that excludes a program asks about them, and so does a list of programs that
names theirs. `WRITES` write a file, or reach what isn't the project's: a list of programs asks.
"""

from __future__ import annotations

RUNS = r"""
git -c alias.x=!cmd x
git --exec-path=. status
git --config-env=core.pager=X log
git difftool
git rebase -x make HEAD~1
git rebase --exec=make HEAD~1
git bisect run make
git submodule foreach make
git filter-branch --tree-filter make
git log --ext-diff
git grep -Omake x
git grep --open-files-in-pager=make x
git fetch --upload-pack=make x
git push --receive-pack=make x
git push --exec=make x
git ls-remote --upload-pack=make x
git clone -u make x
git clone ext::make x
git clone --template=x y
git clone -c core.fsmonitor=make . d
git clone --config core.sshCommand=make x
git init --template=x
git archive --remote=x --exec=make HEAD
git config core.pager make
git config --global core.editor make
git -C / status
git --git-dir=x status
git mergetool -t x
git p4 sync
git lfs fetch
git x
git var GIT_EDITOR | git hook run pre-commit
git send-email x
git web--browse x
git instaweb
git column --command=x
git merge -s x main
git diff --ext-diff
git show --textconv
git cat-file --textconv x
git blame --contents x --textconv y
git worktree add ../x
git interpret-trailers --trailer x
git svn fetch
git cvsimport x
git fast-import
git maintenance register
git credential fill
git upload-pack x
git receive-pack x
git shell -c x
git remote-ext x y
git notes edit
git range-diff --ext-diff a b
git stash show --ext-diff
git format-patch --ext-diff x
git daemon
ssh -o ProxyCommand=make host
ssh -oProxyCommand=make host
ssh -F config host
ssh -o LocalCommand=make host
ssh -I lib.so host
ssh -S socket host
ssh host make
ssh -J host other
scp -S make a b
scp -o ProxyCommand=make a b
scp -F config a b
scp -D make a b
sftp -S make host
sftp -D make
sftp -o ProxyCommand=make host
sftp -b batch host
ssh-keygen -D lib.so
ssh-add -s lib.so
ssh-copy-id host
ssh-agent make
rsync -e make a b
rsync --rsh=make a b
rsync --rsync-path=make a b
rsync -ae make a b
rsync --daemon
rsync -M--x a b
tar --to-command=make -xf a
tar -I make -cf a b
tar --use-compress-program=make -xf a
tar --use-comp=make -xf a
tar --checkpoint-action=exec=make -cf a b
tar --checkpoint=1 --checkpoint-action exec=make -cf a b
tar -F make -cf a b
tar --info-script=make -cf a b
tar --new-volume-script=make -cf a b
tar --rsh-command=make -cf h:a b
tar --rmt-command=make -cf h:a b
tar cIf make a b
zip -T -TT make a b
zip a b -T --unzip-command make
zip -TTmake a b
7z x a
docker run x
docker exec x y
docker build .
docker compose run x
docker compose -f x.yml up
docker buildx build .
docker container exec x y
docker image build .
docker compose exec x y
docker builder build .
docker create x
docker container create x
docker plugin install x
docker -H tcp://x ps
podman run x
podman unshare make
podman machine ssh
podman system service
nerdctl run x
buildah run x make
buildah bud .
skopeo copy docker://x dir:y
kubectl exec x -- make
kubectl run x
kubectl debug x
kubectl cp a b
kubectl apply -f x
kubectl edit x
kubectl config set-credentials x --exec-command=make
kubectl plugin list
kubectl krew install x
kubectl kustomize --enable-exec --enable-alpha-plugins x
kubectl --kubeconfig=x get pods
kubectl replace --raw / -f x
helm install x y
helm plugin install x
helm template x --post-renderer make
helm upgrade --post-renderer=make x y
make -f x
make --file=x
make --eval=x
make -C sub
make -I inc
make SHELL=make
make CC=make
make MAKEFLAGS=x
make .SHELLFLAGS=x
make -E x
make --environment-overrides
make 'X=$(shell make)'
cmake -P script.cmake
cmake -E env make
cmake -E time make
cmake -E chdir x make
cmake -D CMAKE_C_COMPILER=make .
cmake -DCMAKE_CXX_COMPILER_LAUNCHER=make .
cmake --toolchain x .
cmake -C cache.cmake .
cmake --open build
cmake -E cmake_llvm_rc x
ctest -S script.cmake
ctest --script x
ctest --build-and-test a b
ninja -f other.ninja
ninja -t browse
meson setup --native-file x build
meson devenv make
bazel build --run_under=make //x
bazel --bazelrc=x build
bazel --output_user_root=x build
just --shell make
just -f x
just --justfile x
just --command make
task -t x
scons -f x
ant -f x
rake -f x
rake -e x
rake -r x
npm exec x
npm x y
npm explore x -- make
npm config set script-shell make
npm set script-shell make
npm --script-shell=make test
npm test --script-shell make
npm --prefix x test
npm edit x
npm init x
npm create x
npm pkg set scripts.test=make
npm publish
npm config edit
npm --node-options=--require=x test
npm --git=make install
npm install --git=make
npm install --shell=make
npm docs --browser=make
npm help --viewer=make
npm rebuild --node-gyp=make
npm install -g x
yarn dlx x
yarn exec make
yarn node x.js -e x
yarn create x
yarn config set yarnPath x
yarn --cwd x test
yarn set version x
yarn plugin import x
pnpm exec make
pnpm dlx x
pnpm create x
pnpm -C x test
pnpm --dir x test
pnpm --dir=x test
pnpm config set script-shell make
bun x y
bun -e x
bun --eval x
bun --preload x y
bun -r x y
bun create x
bun --cwd x test
bun repl
bun exec make
deno eval x
deno repl
deno run -A x
deno run --allow-run x
deno run --allow-ffi x
deno run --allow-all x
deno install x
deno task --cwd x y
deno test --allow-run
deno test -A
deno run --config x y
deno run --import-map=x y
deno run --preload x y
deno run https://example.org/x.ts
node -e x
node -p x
node -pe x
node --eval x
node --require x y
node -r x y
node --import x y
node --loader x y
node --experimental-loader=x y
node --env-file=x y
node -i
node --openssl-config=x y
node --run x
node --test-reporter=x --test
node --watch-path=x --import=y z
npx x
tsx -e x
ts-node -e x
ts-node -r x y
ts-node -p x
esbuild --plugin=x y
python -c x
python -m x
python -m pip install x
python -ic x
python -i x.py
python -
python -m http.server
python -m timeit -s x
python -m pdb x.py
python -X importtime -c x
ipython -c x
jupyter notebook
pip install --target x y
pip install -t x y
pip install --prefix=x y
pip install --index-url x y
pip install -i x y
pip install --extra-index-url=x y
pip install --config-settings x=y z
pip install --global-option=x y
pip --python x install y
pip config set a b
pip config edit --editor make
uv run x
uv tool run x
uv tool install x
uv pip install --target x y
uv run --with x make
uv run --script x
uv python install 3.12
uv --directory x run y
uv --project x run y
uvx x
poetry run make
poetry config a b
poetry -C x install
poetry --directory x run y
poetry self add x
pipenv run make
pipenv shell
pipx run x
pipx install x
hatch run make
hatch shell
pdm run make
rye run make
nox -f x
tox -c x
pytest -p x
pytest -c x
pytest --rootdir=x
pytest -o addopts=x
pytest --override-ini=x=y
pytest --pdbcls=x:y
pytest --confcutdir=x
coverage run -m x
mypy --config-file x y
mypy --python-executable make x
mypy --install-types x
flake8 --config x y
pylint --load-plugins=x y
pylint --init-hook=x y
pylint --rcfile=x y
sphinx-build -c x a b
sphinx-build -D x=y a b
cargo --config x build
cargo --config=x build
cargo -Z x build
cargo -Zx build
cargo -C x build
cargo install x
cargo run --manifest-path x
cargo +x build
cargo rustc -- -C linker=make
cargo x
cargo build --target-dir x
cargo fix --broken-code --config x
cargo login
rustc -C linker=make x.rs
rustc -Clinker=make x.rs
rustup run x make
rustup toolchain link x y
rustdoc --test --runtool make x
go run x
go generate x
go install x
go build -toolexec make
go build -toolexec=make x
go test -exec make x
go vet -vettool=make
go vet -vettool make x
go build -ldflags '-extld=make' x
go build -ldflags=-extld=make x
go build -compiler gccgo -gccgoflags x y
go build -overlay x y
go build -modfile=x y
go env -w CC=make
go tool x
go -C x build
go test -c -o x
go bug
go work use x
go test -test.outputdir=x ./...
javac -processor x y
javac -processorpath x y
javac -J-agentpath:x y
java -javaagent:x Main
java -agentpath:x Main
java -XX:OnError=make Main
java -XX:OnOutOfMemoryError=make Main
java @args
mvn -f x test
mvn --file x test
mvn exec:exec -Dexec.executable=make
mvn -s x test
mvn --settings x test
mvn -Dmaven.ext.class.path=x test
mvn org.x:y:run
mvn -gs x test
gradle -I x build
gradle --init-script x build
gradle -b x build
gradle --build-file x build
gradle -p x build
gradle --project-dir x build
gradle -g x build
gradle -c x build
gradle --include-build x build
gradle -Dorg.gradle.jvmargs=x build
gradle -Dorg.gradle.java.home=x build
scala -e x
groovy -e x
clojure -M -e x
perl -e x
perl -E x
perl -ne x
perl -pi -e x
perl -Mx y
perl -mx y
perl -Ix y
perl -d:x y
perl -x y
ruby -e x
ruby -rx y
ruby -Ix y
ruby -x y
irb
gem install x
gem exec x
bundle exec make
bundle config a b
bundle open x
bundle console
lua -e x
lua -lx y
lua -i
luajit -e x
luarocks install x
php -r x
php -B x
php -R x
php -a
php -S localhost:80
php -d x=y z
php -c x y
composer exec make
composer global require x
composer -d x install
composer config a b
Rscript -e x
R -e x
julia -e x
elixir -e x
ghc -e x
ghc -pgmF make x
stack exec make
cabal exec make
opam exec -- make
mix run -e x
erl -eval x
dotnet exec x
dotnet tool install x
dotnet script x
dotnet msbuild x
dotnet fsi x
nuget install x
gdb -ex x
gdb -x x y
gdb --eval-command=x
gdb --args make
gdb -p 1
gdb --command=x
lldb -o x
lldb -s x
lldb -- make
strace make
strace -o f make
strace -o '|make' ls
ltrace make
perf record make
perf stat make
perf script x
valgrind make
valgrind --db-command=make ls
vim x
vim -c x
vim -S x
vim --cmd x
vi x
nvim --headless x
emacs --batch x
emacs -f x
nano x
ed x
ex x
view x
man -P make ls
man --pager=make ls
man -H make ls
man --html=make ls
man -C x ls
man -l x -Hmake
man --preprocessor=x ls
less +!make f
less -k f g
less --lesskey-src=f g
more +/x f
most +x f
bat --pager=make f
bat --pager make f
bat --config-file x f
delta --pager=make
systemctl edit x
systemctl start x
systemctl link x
systemctl --user start x
systemd-run make
systemd-run --user make
systemd-run -p x=y make
systemd-nspawn make
service x start
crontab -e
crontab x
at now
at -f x now
batch
screen make
screen -dm make
screen -X x
screen -c x
tmux new make
tmux run make
tmux -f x
tmux source x
tmux send-keys make
dtach -c x make
zellij run -- make
watch make
watch -n1 make
parallel make ::: x
parallel ::: make
script -c make
script -qc make f
script -q -c make /dev/null
expect -c x
expect x
unbuffer make
openssl engine x
openssl req -engine x
openssl dgst -engine x f
openssl s_client -connect x
openssl -provider-path x
openssl req -config x
openssl pkeyutl -provider x
openssl list -provider x
gpg --exec-path x
gpg --photo-viewer make x
gpg --agent-program make x
gpg --dirmngr-program make x
gpg --pinentry-program make x
gpg --keyserver-options exec-path=x y
gpg --options x y
gpg --homedir x y
sqlite3 x '.shell make'
sqlite3 x '.system make'
sqlite3 x '.read y'
sqlite3 x '.import |make t'
sqlite3 x '.output |make'
sqlite3 x '.load y'
sqlite3 -cmd '.shell make' x
sqlite3 -init y x
sqlite3 x 'select load_extension(1)'
sqlite3 x 'select edit(1)'
duckdb -c x
psql -c '\! make'
psql -f x
psql --command='copy x to program y'
psql -P pager=make
mysql -e '\! make'
mysql --pager=make
mysql --plugin-dir=x
mysql --init-command=x
mysqldump --tab=x y
mongosh --eval x
mongo x
redis-cli --eval x
redis-cli eval x
redis-cli config set dir x
pg_dump -f x y
jq -f x y
jq -L x y
jq --from-file x y
yq eval --from-file x y
xmllint --shell x
ffmpeg -i x y
ffmpeg -f lavfi -i x y
convert x y
convert msl:x y
magick x y
identify -format %x msl:y
gs -dNOSAFER x
gs x
inkscape --shell
inkscape --actions=x y
soffice --headless macro:x
libreoffice --convert-to pdf x
pandoc --filter make x
pandoc -F make x
pandoc --lua-filter=x y
pandoc -L x y
pandoc --pdf-engine=make x
pandoc -d x
pandoc --defaults=x y
pandoc --template=x --metadata-file=y z
pdflatex --shell-escape x
pdflatex -shell-escape x
latexmk -e x
asciidoctor -r x y
gnuplot -e x
gnuplot x
curl -K x
curl --config x
curl --engine x https://y
curl --libcurl f https://y
wget --use-askpass=make x
wget -e use_askpass=make x
wget --execute=x y
wget --config=x y
aria2c --on-download-complete=make x
aria2c --on-download-start make x
aria2c --conf-path=x y
lftp -c x
lftp -e x
nmap --script=x y
nmap --script x y
nmap --datadir x y
nmap --servicedb x y
socat - EXEC:make
socat x SYSTEM:make
nc -e make x 1
nc -c make x 1
ncat --exec make x 1
ncat --sh-exec make x 1
ncat --lua-exec x y 1
telnet x
ftp x
tcpdump -z make -r x
tcpdump -w x
tshark -X lua_script:x
wireshark -X lua_script:x
dig @x y -f f | nsupdate x
iptables --modprobe=make x
ip netns exec x make
ip vrf exec x make
ip -b x
tc -b x
mount x y
mount -t x y z
mount --bind x y
umount x
chroot x make
chroot / make
unshare make
unshare -r make
unshare -rm make
nsenter -t 1 make
nsenter --target=1 make
firejail make
bwrap --bind / / make
bwrap make
flatpak run x
flatpak run --command=make x
flatpak-spawn --host make
flatpak-builder --run x y make
snap run x
snap run --shell x
snap install x
proot make
fakeroot make
capsh -- -c make
capsh --shell=make --
setpriv make
runuser -u x make
runuser -u x -- make
su -c make
su x -c make
sudo make
sudo -e x
sudoedit x
sudo -s
sudo -i
doas make
pkexec make
code x
code --install-extension x
code tunnel
codium x
cursor x
subl x
idea x
gh extension exec x
gh extension install x
gh alias set x y
gh x
gh api -X POST x
gh gist edit x
gh codespace ssh
gh repo clone x -- -c a=b
gh repo clone x -- --config a=b
gh config set editor make
gh auth token
gh run download x
gh workflow run x
glab alias set x y
terraform apply
terraform destroy
terraform console
terraform -chdir=x plan
terraform init -plugin-dir=x
terraform init -backend-config=x
terraform plan -out=x
terraform workspace new x
tofu apply
terragrunt run-all apply
packer build x
pulumi up
ansible all -m shell -a make
ansible all -a make
ansible x -m command -a make
ansible-playbook x
ansible-playbook x --ssh-common-args=x
ansible-console
ansible-pull -U x
ansible-galaxy install x
ansible-vault edit x
vagrant ssh -c make
vagrant up
vagrant provision
vagrant plugin install x
salt x cmd.run make
puppet apply x
puppet apply -e x
chef-client -z x
aws configure set credential_process make
aws s3 cp a b
aws lambda invoke x y
aws ec2 terminate-instances x
gcloud compute ssh x
gcloud config set a b
az vm run-command invoke x
doctl compute ssh x
flyctl ssh console
fly ssh console -C make
heroku run make
vercel deploy
netlify dev
wrangler dev
firebase deploy
supabase start
find . -exec make ;
find . -exec make {} +
find . -execdir make {} \;
find . -ok make {} \;
find . -okdir make {} \;
fd -x make
fd -X make
fd --exec make
fd x -x make
rg --pre make x
rg --pre=make x
rg --hostname-bin make x
rg --hostname-bin=make x
ag --pager make x
ag --pager=make x
ack --pager=make x
fzf --preview make
fzf --bind x:execute(make)
sort --compress-program=make x
sort --compress-prog make x
sed '1e make' x
sed 's/a/make/e' x
sed -n '$!{e make
}' x
sed --expression='1e make' x
sed -f x y
awk 'BEGIN{system("make")}'
awk '{print | "make"}' x
awk '"make" | getline' x
awk -f x y
awk -i x y
awk -l x y
awk @x
gawk --load x y
gawk -e 'BEGIN{system("make")}'
split --filter=make x
xargs make
xargs -I{} make {}
xargs -a f make
xargs -n1 sh -c make
env make
env -S make
env -i make
env A=1 make
env -C x make
env --split-string='make x'
nice make
nohup make
timeout 1 make
timeout -k 1 1 make
stdbuf -oL make
setsid make
ionice make
taskset 1 make
chrt 1 make
time make
flock x make
flock x -c make
entr make
watchexec make
nodemon -x make
nodemon --exec make x
inotifywait x
ts-node-dev --exec make x
concurrently make
concurrently 'make x'
npm-run-all make
foreman run make
foreman start
honcho start
pm2 start make
forever start x
supervisorctl start x
hyperfine make
hyperfine --prepare make ls
hyperfine 'make x'
bash x
bash -c make
bash -c 'eval make'
bash --rcfile x
bash --init-file x -i
bash -i
sh x
sh -c make
dash -c make
zsh -c make
ksh -c make
fish -c make
csh -c make
tcsh -c make
busybox sh -c make
busybox make
toybox make
pwsh -c make
eval make
source x
. x
exec make
command make
builtin eval make
trap make EXIT
coproc make
alias ls=make
enable -f x y
complete -C make x
bind -x x
hash -p /x make
mapfile -C make x
readarray -c1 -C make x
xdg-open x
open x
gio open x
xvfb-run make
dbus-send x
dbus-run-session make
busctl call x
gdbus call x
at -f x now + 1 minute
logrotate x
logrotate -f x
run-parts x
start-stop-daemon --start --exec make
update-alternatives --install a b c 1
dpkg -i x
dpkg-deb -x a b
dpkg --pre-invoke=make -i x
apt install x
apt-get install x
apt-get -o APT::Update::Pre-Invoke::=make update
apt-get changelog x
apt -o Dpkg::Pre-Invoke::=make install x
dnf install x
yum install x
apk add x
pacman -S x
brew install x
nix-shell --run make
nix-shell -p x --run make
nix run x
nix develop -c make
nix shell x -c make
guix shell x -- make
conda run make
conda install x
mamba run make
asdf exec make
mise exec -- make
direnv exec . make
direnv allow
nvm exec 18 make
rbenv exec make
pyenv exec make
jenv exec make
gcc -wrapper make x.c
gcc -B. x.c
gcc -fplugin=x y.c
gcc -specs=x y.c
gcc @args
gcc -Wl,-plugin,x y.c
clang -fplugin=x y.c
clang -Xclang -load -Xclang x y.c
clang-tidy -load x y
ld -plugin x y
as @x
ar --plugin x r y z
nm --plugin x y
objdump --plugin x
ctags --options=x y
cpp -wrapper make x
m4 x
bc -f x
dc -e '!make'
dc -f x
ping -c 1 x | tee >(make)
7z a -sdel x y
rpm --eval x
rpm --pipe make -qa
rpm -i x
rpmbuild x
mail -s x y
mailx -S sendmail=make x
mutt -e x
sendmail x
lp x
loginctl x
update-rc.d x defaults
visudo
vipw
chsh -s x
passwd
useradd x
usermod x
insmod x
modprobe x
sysctl -w a=b
kexec x
reboot
shutdown now
poweroff
halt
init 0
dd if=a of=b
mkfs x
fdisk x
losetup x
cryptsetup x
lvm x
swapon x
"""

WRITES = r"""
git log --output=f
git diff --output f
git format-patch -o d HEAD~1
git archive -o f HEAD
git bundle create f HEAD
sort -o f g
sort --output=f g
sort -uof g
sed -i x f
sed --in-place s/a/b/ f
sed -ni p f
sed 'w f' g
sed 's/a/b/w f' g
awk '{print > "f"}' g
awk '{print >> "f"}' g
find . -delete
find . -fprint f
find . -fprintf f x
find . -fls f
tree -o f
tree -R -H x -L 1
tee f
dd of=f
cp a /etc/b
mv a /etc/b
ln -s a /etc/b
install a /etc/b
cp -t /etc a
rm -rf /
rm -rf ~
rm -rf ..
rm -rf .git
mkdir .git/hooks
touch .bashrc
tar xf a
tar -xf a
tar --extract -f a
tar -cf a b --remove-files
tar -P -cf a b
unzip a
7z x a
ar x a
cpio -i
pax -r
gunzip -f a
gzip -f a
xz -f a
zstd -f a -o b
zstd a -o b
split a
csplit a 1
truncate -s 0 f
shred f
fallocate -l 1 f
patch f
patch < f
curl -o f https://x
curl --output f https://x
curl -O https://x
curl -sSLo f https://x
curl -D f https://x
curl -c f https://x
curl --trace f https://x
curl --stderr f https://x
curl -d a https://x
curl -F a=@b https://x
curl -T f https://x
curl --etag-save f https://x
curl --hsts f https://x
curl --create-dirs --output-dir d -O https://x
curl -w %output{f} https://x
curl --dump-header f https://x
curl --cookie-jar f https://x
curl -J -O https://x
curl --skip-existing -O https://x
curl --ssl-sessions f https://x
curl --dump-ca-embed f --alt-svc g https://x
wget https://x
wget -O f https://x
wget -P d https://x
wget -r https://x
wget -i f
wget -a f -O- https://x
wget -o f -O- https://x
wget --save-cookies f -O- https://x
wget --post-file=f https://x
wget --warc-file=f -O- https://x
wget --hsts-file=f -O- https://x
wget --rejected-log=f -O- https://x
aria2c https://x
yt-dlp x
scp a host:b
sftp host
rsync --write-batch=f a b
rsync --log-file=f a b
rsync -a --delete a/ b/
rsync a host:b
jq --arg x y -n f --output f | sponge f
yq -i x f
yq --inplace x f
prettier --write f
eslint --fix f
eslint -o f g
black f -o g | pytest --junitxml=f
pytest --junit-xml=f
pytest --basetemp=d
pytest --html=f
pytest --report-log=f
gcc -o /etc/f a.c
gcc -o f a.c
gcc -MF f a.c
gcc -save-temps -dumpdir d a.c
go build -o f
go test -coverprofile=f
go test -cpuprofile f
go test -o f
cargo build --target-dir d
openssl enc -out f
openssl req -out f
openssl rand -out f 8
openssl genrsa -out f
openssl rand -writerand f 8
gpg -o f -d g
gpg --output f -d g
gpg --import f
gpg --delete-keys x
ssh-keygen -f f
iconv -o f g
xxd -r a b
xxd a b
uniq a b
base64 -o f g
diff --output=f a b
pr --output=f g
man -k x | col > f
less -o f g
less --log-file=f g
strings -o f > g
objcopy a b
strip f
chmod 777 f
chown x f
chgrp x f
setfacl -m x f
setfattr -n a f
chattr +i f
kill 1
pkill x
killall x
date -s x
hostname -F f
ffmpeg -i a b
convert a b
sqlite3 x '.output f'
sqlite3 x '.backup f'
sqlite3 x '.save f'
sqlite3 x '.once f'
sqlite3 x 'vacuum into "f"'
sqlite3 x 'attach "f" as g'
sqlite3 x 'select writefile(1,2)'
psql -o f
psql -L f
mysql --tee=f
pg_dump -f f x
pg_dump --file=f x
redis-cli --rdb f
redis-cli flushall
kubectl delete pod x
kubectl scale x
kubectl annotate x
kubectl cp a b
docker cp a b
docker save -o f x
docker export -o f x
docker push x
docker image save -o f x
gh release download
gh release upload x
gh secret set x
gh gist create f
gh repo delete x
gh pr merge 1
npm publish
npm unpublish x
cargo publish
twine upload x
poetry publish
gem push x
mvn deploy
docker login
helm uninstall x
terraform apply
terraform state rm x
aws s3 rm x
aws s3 sync a b
gsutil cp a b
az storage blob upload x
xmllint --output f g
xsltproc -o f a b
pandoc -o f g
dot -o f g
dot -of g
plantuml x
cmake -E copy a /etc/b
cmake -E rm x
cmake -E touch x
cmake --install build
meson install
pip install --root x y
script f
script -a f
logger -f f
tcpdump -w f
strace -o f ls
ltrace -o f ls
perf record -o f ls
screen -L
tmux pipe-pane x
vim f
history -w f
history -a f
tac f > g
cat f >> g
cat f >| g
cat f &> g
cat <> f
echo x > /dev/tcp/a/1
echo x > .git/config
: > f
> f
printf x > f
ls > f
exec > f
rg x --debug > f
fzf --history=f
ctags -o f g
mkfifo f
mknod f p
socat - OPEN:f,create
nc -l 1
tar -g f -cf - b
tar --listed-incremental=f -cf - b
tar --index-file=f -tvf b
rename a b c
mmv a b
link a /etc/b
clang-format -i f
gofmt -w f
autopep8 -i f
yapf -i f
stylelint --fix f
rubocop -a
shfmt -w f
mogrify f
sponge f
ex f
ed f
crontab f
wall x
write x
"""


def lines(text: str) -> list[str]:
    """Return the commands; a line that ends in an open brace goes on."""
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        if found and found[-1].count("'") % 2:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found
