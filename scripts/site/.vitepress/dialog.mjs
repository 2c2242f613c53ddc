// Mends what axe finds in the search of VitePress 1.6.4: a button that contains controls, links in options, names of keys without a role.

const changes = [
  [/role="button"/, 'role="dialog" aria-modal="true"'],
  [/:?aria-(owns|expanded|haspopup)="[^"]*"/g, ""],
  [/:id="'localsearch-item-' \+ index"\s+:aria-selected="[^"]*"\s+role="option"/, 'role="none"'],
  [/:href="p\.id"/, `:href="p.id" role="option" :id="'localsearch-item-' + index" :aria-selected="selectedIndex === index"`],
  [/:aria-label="\[\.\.\.p\.titles, [^"]*"/, ""],
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
];

/** A plugin of Vite. It fails when VitePress has other markup than this expects. */
export const dialog = {
  name: "dialog",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("VPLocalSearchBox.vue")) return undefined;
    return changes.reduce((text, [from, to]) => {
      const changed = text.replace(from, to);
      if (changed === text) throw new Error(`VPLocalSearchBox.vue has no ${from}`);
      return changed;
    }, code);
  },
};
