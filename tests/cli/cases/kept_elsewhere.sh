# The object of an approved certificate is put in place in another clone, byte for byte; whatever is touched, it is compiled instead.
light kept
unit; good_candidate 1
mkdir there; mv unit.cu cand there; cd there || exit 1
agent --kscc-agent=file:cand -MD -MF unit.d -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename "$(key_dir)"); kept=$(basename "$(key_dir)"kept-*.json .json)
run "$KSCC" store verify
expect_status 0; grep -q "$kept.json: no approval names it: it is not used" out || fail "verify does not tell what is not used: $(cat out)"
# a planted object: the approval does not name what the sources do not make
cp -r . ../planted && cd ../planted || exit 1
obj=$(key_dir)$kept.object
# flip FILE: the last letter of a text in it becomes another
flip() { python3 - "$1" <<'P'
import sys
b = bytearray(open(sys.argv[1], 'rb').read())
i = b.rindex(b'.text')
b[i] ^= 1
open(sys.argv[1], 'wb').write(b)
P
}
rehash() { sed -i "s/\"object_sha256\":.*\"[0-9a-f]\{64\}\"/\"object_sha256\":\"$(sha256sum "$obj" | cut -d' ' -f1)\"/" "$(key_dir)$kept.json"; }
flip "$obj"; rehash
run "$KSCC" approve "$key"
expect_status 0; grep -q "$kept.json is not approved, builds elsewhere compile: " out || fail "an approval took what was planted: $(cat out)"
grep -q kept_sha256 "$(key_dir)approved.json" && fail "the approval names what was planted"
# whoever writes the approval too, and a record that says "made elsewhere": bad all the same
sed -i 's|"made_in":.*|"made_in":"/elsewhere",|' "$(key_dir)$kept.json"
sed -i "s/^{/{\"kept_sha256\":{\"$kept.json\":\"$(sha256sum "$(key_dir)$kept.json" | cut -d' ' -f1)\"},/" "$(key_dir)approved.json"
run "$KSCC" store verify; expect_status 0 # nothing was compared
run "$KSCC" store verify --rebuild
expect_status 1; grep -q "$kept.json: it is not what the sources and the certificates make here; it says that it was made in '/elsewhere': compare it there" out || fail "verify --rebuild: $(cat out)"
grep -qx '1 kept object bad' out || fail "a difference does not count: $(cat out)"
rm "$obj"; run "$KSCC" store verify; expect_status 1; grep -qx '1 kept object bad' out || fail "an object that is named and not there: $(cat out)"
cd ../there || exit 1
# approved: in another folder, by other times and inodes, with other variables of messages
run "$KSCC" approve "$key"
expect_status 0; grep -q "$kept.json made again, the same" out || fail "it is not made again: $(cat out)"
run "$KSCC" store verify --rebuild
expect_status 0; grep -q "$kept.json: made again, the same" out || fail "verify --rebuild: $(cat out)"
mkdir -p ../else/where && cp -r . ../else/where/here && cd ../else/where/here || exit 1
rm -rf .kscc/cache unit.o unit.d; find . -type f -exec touch -d 2020-02-02 {} +; cp -r . ../whole
ci() { rm -f unit.o; CI=true agent "$@" -MD -MF unit.d -c unit.cu -o unit.o; expect_status 0; }
obj=$(key_dir)$kept.object
TERM=dumb LANG=C.UTF-8 ci; expect_err "emitted unit.o"; expect_same unit.o ../../../there/unit.o; expect_same unit.d ../../../there/unit.d
expect_no_file .kscc/cache
run "$KSCC" store verify --rebuild
expect_status 0; grep -q "$kept.json: made again, the same" out || fail "verify --rebuild in another folder: $(cat out)"
# a record's line runs nothing of the work tree
printf '#!/bin/sh\ntouch %s/ran\n' "$PWD" >evil; chmod +x evil
for words in '"-ccbin", "./evil",' '"--kscc-nvcc=./evil",' '"-Xcompiler", "-B.",' '"-Xcompiler", "-fplugin=./evil",' '"-run",'; do
  sed -i "s|\"line\":[[:space:]]*\[|&$words|" "$(key_dir)$kept.json"
  run "$KSCC" approve "$key"; grep -q "$kept.json is not approved" out || fail "$words is approved: $(cat out)"
  [ ! -e ran ] || fail "$words runs a program of the work tree"
  rm -rf .kscc && cp -r ../whole/.kscc .
done
# compiled WHAT [REMARK]: the candidate is emitted all the same, and not the kept object
compiled() {
  expect_err "emitted unit.o"; expect_symbol unit.o scale_shift
  cmp -s unit.o "$obj" && fail "the kept object is in place though $1"
  cmp -s unit.o ../whole/"$obj" && fail "the kept object is in place though $1"
  [ -z "${2:-}" ] || expect_err "$2"
  rm -rf .kscc && cp -r ../whole/.kscc .
}
flip "$obj"; ci; compiled "a byte of it differs" "it is not the file that its record names, compiling"
flip "$obj"; rehash
run "$KSCC" store verify; expect_status 0; grep -q "no approval names it" out || fail "verify names a changed record: $(cat out)"
ci; compiled "its record differs" "is not the record that its approval names, compiling"
# links to what has no end, and names that lead elsewhere
ln -sf /dev/zero "$(key_dir)$kept.json"; ci; compiled "its record is a device" "is no plain file, compiling"
ln -sf /dev/zero "$obj"; ci; compiled "it is a device" "is no plain file, compiling"
# baseline WHY: nothing of the store is emitted
baseline() { expect_err "$1"; expect_err "the baseline object stays"; nm unit.o | grep -q kscc && fail "emitted though $1"; rm -rf .kscc && cp -r ../whole/.kscc .; }
for file in candidate.cu certificate.json; do ln -sf /dev/zero "$(key_dir)$file"; ci; baseline "$file' is no plain file"; done
rm "$(key_dir)approved.json"; mkfifo "$(key_dir)approved.json"; ci; baseline "is not approved"
sed -i 's|"sha256":[[:space:]]*{|&"../../../../../../../../../../dev/zero": "0",|' "$(key_dir)certificate.json"
run "$KSCC" store verify; expect_status 1; grep -q "a file of another folder" out || fail "verify follows a name: $(cat out)"
rm -rf .kscc && cp -r ../whole/.kscc .
run "$KSCC" approve ""; expect_status 1; expect_err "'' names no key"
# signed: who changes record and approval has no key for the signature
ssh-keygen -q -t ed25519 -N '' -f id; echo "me $(cat id.pub)" >signers
run "$KSCC" approve --sign=id --no-kept "$key"; expect_status 0
grep -q kept_sha256 "$(key_dir)approved.json" && fail "--no-kept names one"
cd ../../../there || exit 1
cp ../else/where/here/id* ../else/where/here/signers .
run "$KSCC" approve --sign=id "$key"; expect_status 0
rm -rf ../else/where/here/.kscc && cp -r .kscc ../else/where/here/ && cd ../else/where/here && rm -rf .kscc/cache || exit 1
ci --kscc-allowed-signers="$PWD/signers"; expect_err "emitted unit.o"; expect_same unit.o "$obj"
flip "$obj"; rehash
sed -i "s/\($kept.json\":.*\"\)[0-9a-f]\{64\}\"/\1$(sha256sum "$(key_dir)$kept.json" | cut -d' ' -f1)\"/" "$(key_dir)approved.json"
ci --kscc-allowed-signers="$PWD/signers"; expect_err "does not hold"; expect_err "the baseline object stays"
nm unit.o | grep -q kscc && fail "emitted without a signature that holds"
