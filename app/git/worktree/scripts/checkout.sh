# Write out the tree $1 and make the agent's own git directory, whose HEAD is the commit $2.
set -eu
mkdir -p /q/objects
cp /exclude /q/exclude
git read-tree --reset -u "$1"

mkdir -p /agent/objects/info /agent/objects/pack /agent/refs/heads /agent/info
echo /git/objects >/agent/objects/info/alternates
if [ -f /git/shallow ]; then cp /git/shallow /agent/shallow; fi
cp /exclude /agent/info/exclude
cp /q/index /agent/index
echo ref: refs/heads/work >/agent/HEAD
echo "$2" >/agent/refs/heads/work
cat >/agent/config <<END
[core]
	repositoryformatversion = 0
	bare = false
	logallrefupdates = true
[user]
	name = agent
	email = agent@sandbox.invalid
[gc]
	auto = 0
END
