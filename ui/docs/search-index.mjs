/** Returns the sections of all pages: `[file, title of the page, [id, title, text][]]`. The browser makes the index of them. */
export const searchIndex = (pages) =>
  pages.map(({ file, title, sections }) => [file, title, sections.map(({ id, title: name, text }) => [id, name, text])])
