# What makes another object without another source: programs that were exchanged, scripts around them, files edited while the build
# runs.  Nothing of that is taken for the same thing (again.sh has what is in the sources).
light kept
unit; good_candidate 1
echo '#define FACTOR 3.0f' >factor.h
sed -i 's/#include <cuda_runtime.h>/&\n#include "factor.h"/; s/3\.0f;/FACTOR;/; s/3\.0f + /FACTOR + /' unit.cu cand/1.cu
kept() { ls .kscc/cache 2>/dev/null | wc -l; }
build() { rm -f unit.o; agent --kscc-agent=file:cand "$@" -O2 -c unit.cu -o unit.o; expect_status 0; expect_err "emitted unit.o"; }
# same: the object comes out of the cache; anew: it does not.  Both leave an emitted one.
was_kept() { for o in was/*/object.o; do cmp -s unit.o "$o" && return; done; return 1; }
same() { cp -r .kscc/cache was; build "$@"; was_kept || fail "made anew: $*"; rm -rf was; }
anew() { cp -r .kscc/cache was; build "$@"; was_kept && fail "not made anew: $*"; rm -rf was; }

# ---- a script around the host compiler, that reads a file and a variable of its own ---------------------------------------
mkdir cc; printf '#!/bin/bash\nexec g++ $(cat %q/flags 2>/dev/null) ${MY_FLAGS:-} "$@"\n' "$PWD" >cc/g++; chmod +x cc/g++
sed -i 's/^\(extern "C" void scale_shift.*\)/int helper(int a, int b) { int s = 0; for (int i = 0; i < a; i++) s += b * i; return s; }\n\1/' unit.cu cand/1.cu
sleep 2 # a compiler changed a moment ago is not trusted
build -ccbin "$PWD/cc/g++"; [ "$(kept)" = 1 ] || fail "a script as the host compiler: not kept"
same -ccbin "$PWD/cc/g++"
echo -fno-tree-vectorize >flags; anew -ccbin "$PWD/cc/g++"; rm flags
export MY_FLAGS=-fno-unroll-loops; anew -ccbin "$PWD/cc/g++"; unset MY_FLAGS
same -ccbin "$PWD/cc/g++" # as at first: still there
rm -rf .kscc/cache

# ---- a toolkit whose assembler is exchanged, with the size and the times of the old one -----------------------------------
mkdir -p tk; cp -rs "$(dirname "$(dirname "$(realpath "$REAL_NVCC")")")/." tk/ 2>/dev/null
ptxas=$(readlink -f tk/bin/ptxas); rm tk/bin/ptxas
printf '#!/bin/bash\nexec %q "$@" #1\n' "$ptxas" >tk/bin/ptxas; chmod +x tk/bin/ptxas; touch -d 2020-01-01 tk/bin/ptxas
sleep 2
build --kscc-nvcc="$PWD/tk/bin/nvcc"
same --kscc-nvcc="$PWD/tk/bin/nvcc"
printf '#!/bin/bash\nexec %q "$@" #2\n' "$ptxas" >tk/bin/ptxas; touch -d 2020-01-01 tk/bin/ptxas
anew --kscc-nvcc="$PWD/tk/bin/nvcc"
rm -rf .kscc/cache

# ---- files edited while the build runs ------------------------------------------------------------------------------------
# an nvcc that compiles something else than what lies there before and after, times and all
cat >editor <<E
#!/bin/bash
case " \$* " in *" --dryrun "* | *" -M "* | *" --version "* | *" -v "*) exec $(printf %q "$REAL_NVCC") "\$@";; esac
cp -p factor.h saved.h; echo '#define FACTOR 7.0f' >factor.h
$(printf %q "$REAL_NVCC") "\$@"; status=\$?
cp -p saved.h factor.h; exit \$status
E
chmod +x editor; mkdir -p slow; mv editor slow/nvcc; sleep 2
agent --kscc-agent=file:cand --kscc-nvcc="$PWD/slow/nvcc" -O2 -c unit.cu -o unit.o
[ "$(kept)" = 0 ] || fail "kept though a header changed to and fro during the build"
