const READ_ONLY = { readOnlyHint: true, openWorldHint: false }

/** Maximum results of one search. */
export const MAX_RESULTS = 20
/** Results of a search that does not say how many. */
export const DEFAULT_RESULTS = 10
/** Maximum characters of a page in one result. */
export const MAX_CHARACTERS = 50_000
/** Maximum length of a query and of an address. */
export const MAX_QUERY = 1000
export const MAX_ADDRESS = 2048

const text = (description: string, maxLength: number) => ({ type: 'string', description, maxLength })

/** The tools of the MCP server, as `tools/list` returns them. */
export const TOOLS = [
  {
    name: 'fetch',
    title: 'Read a page',
    description:
      'Returns a page of this site as Markdown. Give one of path, url or id. Long pages are cut; continue with offset.',
    inputSchema: {
      type: 'object',
      properties: {
        path: text('Path on this site, as in /docs/start', MAX_ADDRESS),
        url: text('Address on this site', MAX_ADDRESS),
        id: text('The id of a result of search', MAX_ADDRESS),
        offset: { type: 'integer', minimum: 0, description: 'Characters to skip' },
      },
    },
    outputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        title: { type: 'string' },
        url: { type: 'string' },
        text: { type: 'string' },
      },
      required: ['id', 'title', 'url', 'text'],
    },
    annotations: READ_ONLY,
  },
  {
    name: 'search',
    title: 'Search the site',
    description: 'Searches the pages of this site and returns titles, addresses and excerpts. Read results with fetch.',
    inputSchema: {
      type: 'object',
      properties: {
        query: text('Words to search for', MAX_QUERY),
        limit: { type: 'integer', minimum: 1, maximum: MAX_RESULTS, default: DEFAULT_RESULTS },
      },
      required: ['query'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        results: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              id: { type: 'string' },
              title: { type: 'string' },
              url: { type: 'string' },
              snippet: { type: 'string' },
            },
            required: ['id', 'title', 'url', 'snippet'],
          },
        },
      },
      required: ['results'],
    },
    annotations: READ_ONLY,
  },
] as const
