# Completion of tpustarter. Without an answer, bash completes names of files.
_tpustarter() {
  local IFS=$'\n'
  COMPREPLY=($("$1" completion -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _tpustarter tpustarter
