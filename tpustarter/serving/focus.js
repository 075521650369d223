// Keys go to the tutor from the start: textual-serve leaves them to the page until it is clicked.
new MutationObserver(() => {
  document.querySelector(".xterm-helper-textarea")?.focus();
}).observe(document.documentElement, { subtree: true, attributeFilter: ["class"] });
