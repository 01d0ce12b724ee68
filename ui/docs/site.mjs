import { apiPages } from './api/pages.mjs'
import { menuOf } from './menu.mjs'
import { guide } from './page.mjs'
import { searchIndex } from './search-index.mjs'
import { shell } from './shell.mjs'
import { missingPage, startPage } from './start.mjs'

/** Returns the text of each file of the site. `guides` are names and sources of Markdown pages. */
export function site(guides, openapi) {
  const pages = guides.map(([name, source]) => guide(name, source))
  const areas = apiPages(openapi)
  const menu = menuOf(pages, areas)
  const all = [startPage(areas), ...pages, ...areas, missingPage()]
  const operations = Object.fromEntries(areas.flatMap(({ file, ids }) => ids.map((id) => [id, file])))
  return new Map([
    ...all.map((page) => [page.file, shell(page, menu)]),
    ['search.json', JSON.stringify(searchIndex([...pages, ...areas]))],
    // The manual of the API was one page: its links name an operation.
    ['operations.json', JSON.stringify(operations)],
  ])
}
