// Focus the tutor at once: textual-serve sends it no keys until the page is clicked.
new MutationObserver(() => {
  document.querySelector(".xterm-helper-textarea")?.focus();
}).observe(document.documentElement, { subtree: true, attributeFilter: ["class"] });
