#!/bin/sh
# debian.sh PREFIX VERSION MAINTAINER: what Debian's policy asks of the staged tree PREFIX (.../usr).
set -eu
prefix=$1 version=$2 maintainer=$3
doc=$prefix/share/doc/kscc
find "$prefix/share/man" -type f ! -name '*.gz' -exec gzip -9n {} +
cat >"$doc/copyright" <<T
kscc, version $version

No licence comes with this version of kscc: its sources state none.

The package holds kscc's own files alone.  The libraries that it uses are packages
of their own, with their own copyright files under /usr/share/doc.
T
if [ -d "$prefix/lib/kscc/libclang" ]; then
    printf '\nlib/kscc/libclang holds libclang of the LLVM project, Apache License 2.0 with LLVM exceptions,\nas the wheel libclang-ng brings it.\n' >>"$doc/copyright"
fi
date=$(date -R -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")
printf 'kscc (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n' "$version" "$version" "$maintainer" "$date" | gzip -9n >"$doc/changelog.gz"
mkdir -p "$prefix/share/lintian/overrides"
cat >"$prefix/share/lintian/overrides/kscc" <<'T'
# a static program, so that a build that calls it has nothing to load
kscc: shared-library-lacks-prerequisites [usr/bin/kscc]
# the manual that 'kscc help install' prints: packages, CMake projects
kscc: package-contains-upstream-installation-documentation [usr/share/doc/kscc/INSTALL.md]
T
find "$prefix" -type d -exec chmod 755 {} +
find "$prefix" -type f -perm /022 -exec chmod go-w {} +
