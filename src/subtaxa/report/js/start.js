// Everything is defined: show the page.

addListeners();
readAddress();
history.replaceState({ known: true }, "");
refresh();
document.body.dataset.ready = "yes";
