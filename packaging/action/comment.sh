#!/usr/bin/env bash
# Keeps one comment on a pull request up to date: `comment.sh PAGE`. Its first line is a mark that readers do not see; comments of other
# actions, which write as the same user, have none.
set -euo pipefail
page=$1
[ -s "$page" ] || exit 0
mark="<!-- cargo-lmem: ${CATEGORY//[^A-Za-z0-9_.\/-]/_} -->"
all=$(gh api --paginate "repos/$GH_REPO/issues/$PULL_REQUEST/comments" \
    --jq ".[] | select(.body | startswith(\"$mark\")) | .id")
known=${all%%$'\n'*}
# A change that no table has a line for is no reason for a comment, but one to bring an older comment up to date.
if [ -z "$known" ] && ! grep -q '^|' "$page"; then
    exit 0
fi
body="$page.body"
{ echo "$mark"; cat "$page"; } > "$body"
# A comment takes 65536 characters.
if [ "$(wc -c < "$body")" -gt 60000 ]; then
    head -c 60000 "$body" | sed '$d' > "$body.short"
    printf '\n… the summary of the job has the rest\n' >> "$body.short"
    mv "$body.short" "$body"
fi
if [ -n "$known" ]; then
    gh api --silent --method PATCH "repos/$GH_REPO/issues/comments/$known" --field "body=@$body"
else
    gh api --silent --method POST "repos/$GH_REPO/issues/$PULL_REQUEST/comments" --field "body=@$body"
fi
