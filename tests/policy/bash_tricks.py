"""Ways by which bash comes to run what stands in data, for programs made by chance: see `bash_programs`."""

from __future__ import annotations

SECOND_ORDER = (
    "[[ -v a[$({inner})] ]]", "[[ -v 'a[$({inner})]' ]]", "[[ -R 'a[$({inner})]' ]]", "test -v 'a[$({inner})]'",
    "[ -v 'a[$({inner})]' ]", "unset 'a[$({inner})]'", "a=(1); unset 'a[$({inner})]'", "printf -v 'a[$({inner})]' x",
    "read 'a[$({inner})]' <<< 1", "read -a 'a[$({inner})]' <<< 1", "read -ra b <<< '$({inner})'; : $((b))",
    "declare 'a[$({inner})]=1'", "declare -n r='a[$({inner})]'; r=1", "declare -n r='a[$({inner})]'; : $r",
    "declare -n r=b; b='a[$({inner})]'; : $((r))", "let 'a[$({inner})]=1'", "let x='a[$({inner})]' y=x",
    "x='a[$({inner})]'; (( x ))", "x='a[$({inner})]'; : $((x))", "x='a[$({inner})]'; : $[x]", "x='a[$({inner})]'; [[ x -eq 0 ]]",
    "x='a[$({inner})]'; y=x; (( y ))", "x='a[$({inner})]'; declare -i z=x", "declare -i z; x='a[$({inner})]'; z=x",
    "x='a[$({inner})]'; for ((i=x;i<0;i++)); do :; done", "for ((i=$({inner})0;i<1;i++)); do :; done",
    "x='a[$({inner})]'; : ${{HOME:x}}", "x='a[$({inner})]'; : ${{b[x]}}", "x='a[$({inner})]'; b[x]=1", "export 'a[$({inner})]=1'",
    "getopts a 'v[$({inner})]' -a", ": & wait -p 'v[$({inner})]' $!", "mapfile 'a[$({inner})]' <<< x",
    "mapfile -C {name} -c 1 a <<< x", "readarray -c1 -C '{name} x #' a <<< x", "mapfile -tC {name} -c1 a <<< x",
    "x='$({inner})'; : \"${{x@P}}\"", "x=('$({inner})'); : \"${{x[@]@P}}\"", "x='$({inner})'; : ${{x@A}} ${{x@Q}}",
    "PS4='$({inner})'; set -x; :", "PS4='$({inner})' bash -xc :", "x='$({inner})'; PS4=$x; set -o xtrace; :",
    "BASH_ENV=<(echo {name}) bash -c :", "ENV=<(echo {name}) sh -ic :", "PROMPT_COMMAND={name} bash -ic :",
    "trap {name} DEBUG; :", "trap {name} ERR; false", "f() {{ :; }}; trap {name} RETURN; f", "trap -- {name} EXIT", "trap '{name} x' 0",
    "(trap {name} EXIT)", "trap \"{name}\" USR1; kill -USR1 $$", "x={name}; trap '$x' EXIT", "trap '' EXIT; trap {name} EXIT",
    ": $(( a['$({inner})'] ))", "(( a[$({inner})] = 1 ))", ": ${{x[$({inner})]:-y}}", "declare -A m; m['$({inner})']=1; : ${{m[$({inner})]}}",
    "declare -A m=([$({inner})]=1)", "a=([$({inner})]=x); :", "declare -a 'a=($({inner}))'", "declare a='($({inner}))'", "typeset -i 'x=a[$({inner})]'",
    "[[ 'a[$({inner})]' -eq 0 ]]", "[[ 1 -eq 'a[$({inner})]' ]]", "x='a[$({inner})]'; [ $x -eq 0 ]", "printf %d 'a[$({inner})]'",
    "x=a; : ${{!x[$({inner})]}}", "x='a[$({inner})]'; : ${{!x}}", "x='a[$({inner})]'; : ${{x:0}}", "set -- 'a[$({inner})]'; : $(($1))",
    "(( $(echo 'a[$({name})]') ))", "x=$(echo 'a[$({name})]'); (( x ))", "shopt -s assoc_expand_once; x='a[$({inner})]'; ((x))",
)  # fmt: skip

COMPUTED = (
    "a={name}; $a", "a={name}; ${{a}} x", 'a={name}; "$a"', 'a=({name} x); "${{a[@]}}"', 'set -- {name}; "$@"', "set -- {name} x; $1",
    "read x <<< {name}; $x", "read -r x y <<< '{name} z'; $x", "for c in {name}; do $c; done", "printf -v c %s {name}; $c", "x={name}; y=x; ${{!y}}",
    "a=(x {name}); ${{a[1]}}", "IFS=: read x y <<< {name}:z; $x", "a={name}; ${{a#x}}", "a=x{name}; ${{a:1}}", "a=(); a+=({name}); ${{a[@]}}",
    "coproc N {{ echo {name}; }}; read x <&${{N[0]}}; $x", "mapfile -t a <<< {name}; ${{a[0]}}", "a={name}; command $a", "a={name}; env $a", "a={name}; $a <f",
    "a='{name} x'; eval $a", 'a={name}; eval "$a"', "a={name}; sh -c $a", 'a={name}; bash -c "$a"', "a={name}; sh -c '$0' $a", "bash -c '$0 x' {name}",
    "bash -c '\"$@\"' x {name}", "f() {{ $1; }}; f {name}", 'f() {{ "$@"; }}; f {name} x', "f() {{ ${{FUNCNAME}}; }}; {name}", 'git() {{ "$@"; }}; git {name}',
    "xargs -I% % <<< {name}", "xargs -I% sh -c % <<< {name}", "xargs <<< {name} env", "xargs sh -c <<< {name}", "echo {name} | xargs -n1 nice",
    "declare -n r=a; a={name}; $r", "select c in {name}; do $c; break; done <<< 1", "select c in x; do {name}; break; done <<< 1",
    "case {name} in *) $_; esac", ": {name}; $_", "alias l={name}; l", "shopt -s expand_aliases\nalias l={name}\nl", "shopt -s expand_aliases; alias l={name}\nl",
    "BASH_ALIASES[l]={name}\nl", "shopt -s expand_aliases\nBASH_ALIASES[l]={name}\nl", "hash -p $PWD/../programs/{name} zz; zz",
    "command_not_found_handle() {{ {name}; }}; zzz", "command_not_found_handle() {{ $2; }}; zzz {name}", "set -o history -o histexpand\n{name}\n!!",
    "set -H; history -s {name}\n!!", "fc -s x={name}", "exec {{q}}<<< {name}; read x <&$q; $x", "x=${{z-{name}}}; $x", ": ${{x={name}}}; $x", ": ${{x:={name}}}; ${{x}}",
    "x={name} eval '$x'", "x={name}; export x; bash -c '$x'", "x={name} bash -c '$x'", "export x={name}; sh -c 'eval $x'", "f() {{ {name}; }}; export -f f; bash -c f",
    "f() {{ {name}; }}; f=f; $f", "f() {{ local x={name}; $x; }}; f", "x={name}; ( $x )", "x={name}; $( echo $x )", "x={name}; `echo $x`", "x={name}; y=$x; $y",
    "{{ read x; $x; }} <<< {name}", "while read x; do $x; break; done <<< {name}", "until $x; do x={name}; break; done", "x={name}; if $x; then :; fi", "x={name}; ! $x", "x={name}; time $x",
)  # fmt: skip

TEXTS = (
    ". <(echo {name})", "source <(echo {name})", ". /dev/stdin <<< {name}", "source /dev/stdin <<< '{name} x'", "bash -s <<< {name}", "bash <<< {name}", "sh <<E\n{name}\nE",
    "echo {name} | sh", "echo '{name} x' | bash -s", "printf '{name}\\n' | sh", "cat <<E | sh\n{name}\nE", "cat <<'E' | bash\n{inner}\nE", "bash <(echo {name})", "bash /dev/fd/3 3<<< {name}",
    "bash -c \"$(echo {name})\"", "eval \"$(echo {name})\"", "eval \"`echo {name}`\"", "eval $(echo {name})", "eval {name}\\;x", "eval eval {name}", "eval 'eval {name}'", "eval \"eval \\\"{name}\\\"\"",
    "eval -- {name}", "builtin eval {name}", "command eval {name}", "command . <(echo {name})", "bash -c -- {name}", "bash -ec {name}", "bash -o errexit -c {name}", "bash +e -c {name}", "bash --norc -c {name}",
    "bash -O extglob -c {name}", "bash +O extglob -c {name}", "sh -ce {name}", "env bash -c {name}", "exec bash -c {name}", "bash -c 'bash -c {name}'", "nice bash -c {name}", "echo {name} > f; . ./f",
    "echo {name} > f; bash f", "exec <<< {name}; bash", "exec 3<<< {name}; . /dev/fd/3", "bash -c '. /dev/stdin' <<< {name}", "bash -c 'read x; $x' <<< {name}", "echo x | {{ read y; {name}; }}", "echo {name} > >(sh)",
    "tee >(sh) <<< {name}", "cat <<< {name} > >(bash)", ": > >({inner})", "exec > >({inner}); wait", "{name} < <(:)", ": < <({inner})", "read x < <({inner})", "cat <({inner}) <({inner})", "[[ -e <({inner}) ]]", "for x in <({inner}); do :; done",
)  # fmt: skip

GRAMMAR = (
    "f() ( {inner} ); f", "f() {{ {inner}; }} >f 2>&1; f", "f() if :; then {inner}; fi; f", "f() for i in 1; do {inner}; done; f", "f() [[ $({inner}) ]]; f", "f() (( $({inner})1 )); f", "f() case a in a) {inner};; esac; f",
    "function f() {{ {inner}; }}; f", "function f ( {inner} ); f", "function f\n{{ {inner}; }}; f", "f() {{ g() {{ {inner}; }}; g; }}; f", "f()\n{{ {inner}\n}}; f", "f() {{ {inner}; }} <<< $({name}); f", "f() {{ :; }} <<E; f\n$({inner})\nE",
    "case a in a) {inner} ;;& *) {inner} ;& b) {inner}; esac", "case a in (a|$({inner})) {inner};; esac", "case a in [[:alpha:]]) {inner};; esac", "case a in a)\n{inner}\n;;\nesac", "case a in a) ;; b) {inner} ;& c) ;; esac", "case a in *) {inner}\nesac", "case $({inner}) in esac",
    "case a in 'a)') {name};; a) {inner};; esac", "case in in in) {inner};; esac", "case esac in (esac) {inner};; esac", "case a in a) case b in b) {inner};; esac;; esac", "select i in a; do {inner}; break; done <<< 1", "select i; do {inner}; break; done <<< 1",
    "for i do {inner}; done", "set -- a; for i do {inner}; done", "set -- a; for i; do {inner}; done", "set -- a\nfor i\ndo {inner}\ndone", "for i in a; {{ {inner}; }}", "for ((;;)) {{ {inner}; break; }}", "for (( i = 0 ; i < 1 ; i++ )) do {inner}; done", "for ((i=0;i<1;i++))\n{{ {inner}\n}}",
    "until {inner}; do break; done", "until false; do {inner}; break; done", "while {inner}\ndo break\ndone", "if {inner}\nthen :\nelse {inner}\nfi", "if ! {inner}; then {inner}; fi", "if [[ a ]]; then {inner}; fi", "if (( 1 )); then {inner}; fi", "if (:); then {inner}; fi", "if :;then {inner};fi",
    "coproc N if :; then {inner}; fi; wait", "coproc N ( {inner} ); wait", "coproc ( {inner} ); wait", "coproc N for i in 1; do {inner}; done; wait", "coproc time {name}; wait", "coproc N {name}; wait", "coproc {name} x y; wait", "coproc [[ $({inner}) ]]; wait",
    "shopt -s extglob\necho @(a|$({inner}))", "shopt -s extglob\ncase a in @(a|b)) {inner};; esac", "[[ a == @(a|$({inner})) ]]", "[[ a == !(b|$({inner})) ]]", "[[ a = +(a) && $({inner}) ]]", ": ${{HOME/@(a|$({inner}))/}}", "case a in ?(a)) {inner};; esac", "[[ ( -n a && ! ( b ) ) || $({inner}) ]]", "[[ a =~ (a|$({inner})) ]]", "[[ a =~ [[:alpha:]]\\( ]] || {inner}",
    "[[ a && $({inner}) ]]", "[[ ! -e $({inner}) ]]", "[[\n-n a\n&&\n$({inner})\n]]", "[[ -n a ]]&&{name}", "[[ a ]];{name}", "[[ a < b ]] ; {inner}", "(( 1 ));{name}", "((1))&&{name}", "(( 1 > 0 )) && {inner}", "((1<<2)); {inner}", "(( x=(1) )); {inner}",
    "{name} <<E <<'F'\n$({inner})\nE\n$({name})\nF", "cat <<E\n$(cat <<F\n$({inner})\nF\n)\nE", "cat <<'E'\n$({name})\nE\n{name}", "cat <<E\\F\n$({name})\nEF\n{inner}", "cat <<E'F'\n$({name})\nEF\n{inner}", "cat <<$x\n$({name})\n$x\n{inner}", "cat << \"E\"\n`{name}`\nE\n{inner}", "cat <<-E\n\t$({inner})\n\tE\n{name}",
    "if cat <<E; then {inner}; fi\nx\nE", "for i in 1; do cat <<E; {inner}; done\nx\nE", "{{ cat <<E; }} ; {inner}\nx\nE", "(cat <<E\nx\nE\n{inner})", "x=$(cat <<E\n)\nE\n); {inner}", "x=`cat <<E\nx\nE\n`; {inner}", "f() {{ cat <<E\n$({inner})\nE\n}}; f", "cat <<E; f() {{ {inner}; }}; f\nx\nE", "cat <<E | cat <<F; {inner}\na\nE\nb\nF", "cat <<E &&\nx\nE\n{inner}", "cat <<E # c\nx\nE\n{inner}", "cat <<'a b'\nx\na b\n{inner}",
    "cat <<''\nx\n\n{inner}", "cat <<E\nx\nE \nE\n{inner}", "cat <<E;{name}\nE", "cat 3<<E <&3\n$({inner})\nE", "{{x}}<<E {name}\nE", "cat <<E>f\n$({inner})\nE", ": $(: <<E\n$({inner})\nE\n)", "\"$(cat <<E\n\"$({inner})\"\nE\n)\"", "${{ {inner}; }}", ": ${{ {inner}; }}", ": ${{| {inner}; }}", ": \"${{ {name}; }}\"",
    "! ! {inner}", "time -p {inner}", "time; {inner}", "! time -- {name}", "time {{ {inner}; }}", "time ( {inner} )", "time if :; then {inner}; fi", "{{ {inner}; }} | {{ {inner}; }}", "( {inner} ) | ( {inner} )", "{{ {inner} ; }}&wait", "({inner})&wait", "{inner} & {inner}; wait", "{inner} |& {name}", "a=$({inner}) b=$({inner}) {name}", "a=1 b=2 c=$({inner})", "a=$({inner}) : > $({inner})",
    "a=(\n$({inner})\n# x\n$({inner})\n)", "a=($({inner}) \"$({inner})\" '$({name})')", "declare a=$({inner})", "local a=$({inner})", "export a=`{name}`", "readonly a=$({inner})", "declare -a a=($({inner}))", "declare -A a=([x]=$({inner}))", "a[$({inner})]+=1", "a+=($({inner}))", "a=x\\ $({inner})", "a=~:$({inner})", "a=\"$({inner})\"; $a", "{{a,$({inner})}}", "echo {{a,b}}$({inner}){{c,d}}", "echo $'\\'' $({inner})", "echo $\"$({inner})\"", "echo \"$'$({inner})'\"", "echo \"\\`$({inner})\\`\"", "echo `echo \\`{name}\\``", "echo \"`echo \\\"{name}\\\"`\" ; {name}", "echo \"`echo '\"'`\" ; {inner}", "echo ${{x:-\"}}\" $({inner})}}", "echo ${{x//\\//$({inner})}}", "echo ${{x^^$({inner})}}", "echo ${{#x[$({inner})]}}", "echo ${{x[@]:$({inner}):1}}", "echo ${{@:1:$({inner})1}}", "echo ${{x:?$({inner})}}", "echo ${{x:+$({inner})}}", "x=y; echo ${{x:+$({inner})}}", "echo ${{!x@$({name})}}", "echo ${{x-'}}'$({inner})}}", "echo \"${{x-'$({inner})'}}\"", "echo ${{x-$'}}'}} ; {inner}",
)  # fmt: skip
