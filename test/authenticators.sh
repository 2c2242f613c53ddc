#!/usr/bin/env bash
# Tests authenticators and avatars with third-party tools: zbarimg reads the TOTP secret from the QR code, oathtool generates the
# login codes, and ImageMagick's identify reports the format and size of avatars.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl

missing=()
for tool in oathtool:oathtool zbarimg:zbar-tools identify:imagemagick convert:imagemagick; do
  command -v "${tool%%:*}" >/dev/null 2>&1 || missing+=("${tool##*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
  [ "$(id -u)" = 0 ] || fail "missing: ${missing[*]}. Run apt-get install ${missing[*]} as root, then this again"
  echo "installing Debian's ${missing[*]} once"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }

port=$(free_port) url="http://localhost:$port" data="$work/var"
start_server "$data" "$port" "$(free_port)" --demo
identity="$url/id/v3"
email=$(sed -n 's/^email: *//p' "$data/demo.txt") password=$(sed -n 's/^password: *//p' "$data/demo.txt")

call() { # call STATUS METHOD URL [curl arguments]: prints the response body, writes headers to $work/head; retries twice after status 509
  local want=$1 method=$2 target=$3 status
  shift 3
  for _ in 1 2 3; do
    status=$(curl -sS -X "$method" -D "$work/head" -o "$work/body" -w '%{http_code}' "$@" "$target")
    [ "$status" = 509 ] || break
    sleep "$(header Retry-After "$work/head")"
  done
  [ "$status" = "$want" ] || { cat "$work/body" >&2; fail "$method $target answered $status, not $want"; }
  cat "$work/body"
}
json=(-H 'Content-Type: application/json')
login() { # login STATUS TYPE KEY [curl arguments]: expects STATUS; prints the token when STATUS is 200
  local want=$1 type=$2 key=$3
  shift 3
  call "$want" POST "$identity/auth/login" "${json[@]}" -d "{\"email\":\"$email\",\"type\":\"$type\",\"key\":\"$key\"}" "$@" >"$work/login"
  [ "$want" != 200 ] || member token <"$work/login"
}
bearer() { header Authorization "$work/head" | sed 's/^Bearer //'; }
access() { call 200 POST "$identity/auth/access" -H "Authorization: Bearer $1" | member token; }

step "1. The owner logs in and registers TOTP"
id_token=$(login 200 bcrypt "$password")
token=$(access "$id_token")
factors="$identity/profile/authenticators"
call 201 POST "$factors" -H "Authorization: Bearer $token" "${json[@]}" -d '{"type":"totp","name":"oathtool"}' >"$work/totp"
uid=$(member uid <"$work/totp") key=$(member key <"$work/totp")
[ "$(header Location "$work/head")" = "$factors/$uid" ] || fail "Location is $(header Location "$work/head")"

step "2. zbarimg reads the QR code of dataUri"
member dataUri <"$work/totp" | sed 's/^data:image\/png;base64,//' | base64 -d >"$work/qr.png"
otpauth=$(zbarimg --nodbus --quiet --raw "$work/qr.png")
echo "$otpauth" | sed -E 's/(secret=....)[A-Z2-7]*/\1…/'
[[ $otpauth == otpauth://totp/* ]] || fail "the QR code contains $otpauth"
read_key=$(sed -E 's/.*[?&]secret=([A-Z2-7]+).*/\1/' <<<"$otpauth")
[ "$read_key" = "$key" ] || fail "the secret in the QR code differs from the field key"

step "3. oathtool's code verifies it; the session gets a new ID token"
code=$(oathtool --totp -b "$key")
call 204 POST "$factors/$uid/verify" -H "Authorization: Bearer $token" "${json[@]}" -d "{\"email\":\"$email\",\"type\":\"totp\",\"key\":\"$code\"}"
id_token=$(bearer)
[ -n "$id_token" ] || fail "no new ID token in Authorization"
token=$(access "$id_token")

step "4. Login now needs two steps; the used code is refused"
mfa=$(login 200 bcrypt "$password")
login 401 totp "$code" -H "Authorization: Bearer $mfa"
next=$(oathtool --totp -b --now "$(date -u -d '+30 seconds' '+%Y-%m-%d %H:%M:%S UTC')" "$key")
login 200 totp "$next" -H "Authorization: Bearer $mfa" >/dev/null
echo "logged in with oathtool's code"

step "5. A recovery code replaces the TOTP code, once"
call 201 POST "$factors" -H "Authorization: Bearer $token" "${json[@]}" -d '{"type":"recovery"}' >"$work/recovery"
read -r first _ <<<"$(member key <"$work/recovery")"
mfa=$(login 200 bcrypt "$password")
login 200 recovery "$first" -H "Authorization: Bearer $mfa" >/dev/null
mfa=$(login 200 bcrypt "$password")
login 401 recovery "$first" -H "Authorization: Bearer $mfa"
token=$(access "$id_token")
call 200 GET "$factors" -H "Authorization: Bearer $token" | grep -oE '"type":"[a-z]+"[^}]*"cardinality":[0-9]+' | sed -E 's/"type":"([a-z]+)".*:([0-9]+)$/\1: \2/'

step "6. identify reports the four sizes of an avatar"
convert -size 900x600 gradient:red-blue "$work/picture.png"
call 200 PUT "$identity/profile/avatar" -H "Authorization: Bearer $token" -H 'Content-Type: image/png' --data-binary "@$work/picture.png" >/dev/null
[ "$(header Location "$work/head")" = "$identity/profile/avatar" ] || fail "Location is $(header Location "$work/head")"
for size in 500 240 160 80; do
  call 200 GET "$identity/profile/avatar?height=$size" -H "Authorization: Bearer $token" >/dev/null
  etag=$(header ETag "$work/head")
  said=$(identify -format '%m %wx%h' "jpeg:$work/body")
  echo "height=$size: $said"
  [ "$said" = "JPEG ${size}x$size" ] || fail "identify reports $said for height=$size"
  call 304 GET "$identity/profile/avatar?height=$size" -H "Authorization: Bearer $token" -H "If-None-Match: $etag" >/dev/null
done
call 200 POST "$identity/auth/access?cookie=true" -H "Authorization: Bearer $id_token" -c "$work/cookies" >/dev/null
call 200 GET "$identity/profile/avatar" -b "$work/cookies" >/dev/null
identify -format 'with the cookie: %m %wx%h\n' "jpeg:$work/body"

step "Done: oathtool, zbarimg and identify agree with the server."
