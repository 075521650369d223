#compdef tpustarter
# Completion of tpustarter. Without an answer, zsh completes names of files.
_tpustarter() {
  local -a found
  found=("${(@f)$("$words[1]" completion -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)${(@)found//:/\\:}/$'\t'/:}")
  [[ -n $found[1] ]] && _describe tpustarter found || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _tpustarter tpustarter
