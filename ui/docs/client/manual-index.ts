import MiniSearch from 'minisearch'

type Page = readonly [
  file: string,
  title: string,
  sections: readonly (readonly [id: string, title: string, text: string])[],
]

/** A section of the manual. */
export interface Section {
  readonly id: number
  readonly file: string
  readonly page: string
  readonly anchor: string
  readonly href: string
  readonly title: string
  readonly text: string
}

/** The index of the manual. */
interface ManualIndex {
  /** Returns the sections that have the words, best first. */
  readonly find: (query: string) => Section[]
}

let loading: Promise<ManualIndex> | undefined

/** Loads the sections of all pages and makes their index, once. */
export async function load(): Promise<ManualIndex> {
  loading ??= fetchIndex()
  try {
    return await loading
  } catch (error) {
    loading = undefined
    throw error
  }
}

async function fetchIndex(): Promise<ManualIndex> {
  const response = await fetch('/docs/search.json')
  if (!response.ok) throw new Error(`search.json: ${response.status}`)
  const pages = (await response.json()) as readonly Page[]
  const sections: Section[] = []
  for (const [file, page, parts] of pages)
    for (const [anchor, title, text] of parts) {
      const href = `/docs/${file}${anchor === '' ? '' : `#${anchor}`}`
      sections.push({ id: sections.length, file, page, anchor, href, title, text })
    }
  const index = new MiniSearch<Section>({
    fields: ['title', 'page', 'text'],
    searchOptions: {
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      boost: { title: 3, page: 2 },
    },
  })
  index.addAll(sections)
  const find = (query: string): Section[] => {
    const all = index.search(query, { combineWith: 'AND' })
    const found = all.length > 0 ? all : index.search(query)
    return found.map(({ id }) => sections[id as number]!)
  }
  return { find }
}
