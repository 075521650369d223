# Completion of tpustarter. Without an answer, fish completes names of files.
function __tpustarter_words
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    set -l found ($before[1] completion -- $before[2..] "$typed" 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path "$typed"
    end
end
complete -c tpustarter -f -a '(__tpustarter_words)'
