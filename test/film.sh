#!/usr/bin/env bash
# Makes the film of a release: a stranger sends a file, the line drops, the upload goes on, and the receipt is checked. Chromium shows the
# pages of a server of this run; ffmpeg sets each caption below them. Writes consign.mp4 to $FILM (default var/film), and fails when it is
# longer than 45 s or the upload did not go on where it stopped.
. "$(dirname "$0")/lib.sh"
cd "$root"
need chromium chromium
need ffmpeg ffmpeg
need ffprobe ffmpeg
npm_ci test

film=${FILM:-$root/var/film}
mkdir -p "$film" "$work/frames"
port=$(free_port)
step "Starting a server for this run"
start_server "$work/var" "$port" "$(free_port)" --demo
step "Playing the scenes"
node test/film/scenes.mjs "http://localhost:$port" "$work/var" "$work/frames"
step "Cutting the film"
ffmpeg -v error -y -f concat -safe 0 -i "$work/frames/list.txt" -filter_script:v "$work/frames/captions.txt" -r 25 \
  -c:v libx264 -preset slow -crf 24 -pix_fmt yuv420p -movflags +faststart -an "$work/consign.mp4" || fail "ffmpeg does not make the film"
seconds=$(ffprobe -v error -show_entries format=duration -of csv=p=0 "$work/consign.mp4")
size=$(ffprobe -v error -select_streams v -show_entries stream=width,height -of csv=p=0 "$work/consign.mp4")
[ "$size" = 1280,720 ] || fail "the film has $size pixels instead of 1280,720"
awk -v s="$seconds" 'BEGIN { exit !(s >= 20 && s <= 45) }' || fail "the film has $seconds s: 20 to 45 are allowed"
mv "$work/consign.mp4" "$film/consign.mp4"
echo "$film/consign.mp4: $seconds s, $(($(wc -c <"$film/consign.mp4") / 1000)) kB"
