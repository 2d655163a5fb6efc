// Tabs that are walked through with the arrows, as WAI-ARIA asks for.

// `names`: of panels whose tabs are called tab-NAME; `show(name)` is called when one is chosen.
export function makeTabs(names, show) {
  const tabOf = (name) => document.getElementById(`tab-${name}`);
  names.forEach((name, place) => {
    tabOf(name).addEventListener("click", () => show(name));
    tabOf(name).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = names[(place + step + names.length) % names.length];
      event.preventDefault();
      event.stopPropagation();
      show(next);
      tabOf(next).focus();
    });
  });
  return (chosen) => {
    for (const name of names) {
      document.getElementById(name).hidden = name !== chosen;
      tabOf(name).setAttribute("aria-selected", name === chosen);
      tabOf(name).tabIndex = name === chosen ? 0 : -1;
    }
  };
}
