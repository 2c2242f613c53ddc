# Writes each shell block of a Markdown file to out/NN.sh, and a line for each to standard output: NN, line number, reason why it does not
# run. A block without a language is one when it begins as a command does: it cannot hide from the check that way.
function command(line) {
  return line ~ /^(curl|consign|consign-client|bin\/consign|make|export|sed|cp|cat|psql|git|apt-get|sudo|openssl|[A-Z]+=[^ ]*)( |$)/
}
/^ *```/ {
  if (!inside) {
    inside = 1; start = NR; text = ""; first = ""; language = $0
    sub(/^ *```/, "", language)
    next
  }
  inside = 0
  if (language ~ /^(sh|bash)( |$)/ || (language == "" && command(first))) {
    n++
    file = sprintf("%s/%02d.sh", out, n)
    printf "%s", text >file
    close(file)
    printf "%02d\t%d\t%s\n", n, start, reason
  }
  reason = ""
  next
}
inside { if (first == "" && $0 !~ /^ *(#|$)/) first = $0; text = text $0 "\n"; next }
/^ *<!-- not run: .* -->$/ { reason = $0; sub(/^ *<!-- not run: /, "", reason); sub(/ -->$/, "", reason); next }
/^ *<!-- test\/[a-z]*\.sh runs this.* -->$/ { reason = $2 " runs it"; next }
/[^ ]/ { reason = "" }
