// Everything is defined: show the page.

addListeners();
refresh();
document.body.dataset.ready = "yes";
