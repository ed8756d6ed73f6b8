#!/usr/bin/env bash
# A hook that tells the model which branch it works on, with every prompt:
#   {"hooks": {"BeforeAgent": [{"hooks": [{"name": "branch", "command": "bash /path/to/add_branch.sh"}]}]}}
cat > /dev/null
branch=$(git branch --show-current 2>/dev/null) || exit 0
[ -n "$branch" ] || exit 0
printf '{"hookSpecificOutput": {"additionalContext": "The branch is %s."}}\n' "${branch//[\"\\]/}"
