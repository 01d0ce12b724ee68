/** Returns the sections of all pages: `[file, title of the page, [id, title, text][]]`. The browser builds the index from these sections. */
export const searchIndex = (pages) =>
  pages.map(({ file, title, sections }) => [file, title, sections.map(({ id, title: name, text }) => [id, name, text])])
