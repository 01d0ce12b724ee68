/** Pages of the menu by group. Each page of `docs` that is not listed is in the last group. */
const GROUPS = [
  ['Start', ['getting-started', 'configuration', 'front', 'moving', 'cookbook']],
  ['Markdown', ['markdown', 'agents']],
  ['Rules', ['rules', 'cache', 'no-effect']],
  ['Logs', ['logpush', 'pipelines', 'recipes', 'webhooks']],
  ['Workers', ['workers']],
  ['Operate', ['operations', 'dashboard', 'history']],
  ['API and libraries', ['api', 'plugins', 'library']],
]

/** Titles of the menu. The headings of these pages are too long for it. */
const SHORT = {
  cookbook: 'Cookbook',
  'no-effect': 'Stored without effect',
  pipelines: 'Pipelines',
  recipes: 'Recipes',
  library: 'Libraries',
}

/** Returns the groups of the menu. `pages` are the guides, `areas` the pages of the API reference. */
export function menuOf(pages, areas) {
  const rest = new Map(pages.map((page) => [page.name, page]))
  const groups = GROUPS.map(([title, names]) => {
    const items = names.flatMap((name) => {
      const page = rest.get(name)
      rest.delete(name)
      return page ? [itemOf(page)] : []
    })
    return { title, items }
  })
  groups.at(-1).items.push(...[...rest.values()].map(itemOf))
  groups.push({ title: 'API reference', items: areas.map(({ file, label }) => ({ file, title: label })) })
  return groups.filter(({ items }) => items.length > 0)
}

const itemOf = ({ name, file, title }) => ({ file, title: SHORT[name] ?? title })
