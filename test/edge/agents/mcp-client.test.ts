import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { site } from '../markdown/site.js'

/*
 * The client of the official SDK as judge. It is installed by `npm install --prefix test/peers`.
 */
const SDK = fileURLToPath(
  new URL('../../peers/node_modules/@modelcontextprotocol/sdk/dist/esm/client/', import.meta.url),
)

interface Called {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
}

/** The parts of the SDK's client that the test uses. */
interface SdkClient {
  connect(transport: unknown): Promise<void>
  getServerVersion(): unknown
  getInstructions(): string | undefined
  ping(): Promise<unknown>
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<Called>
  close(): Promise<void>
}

const skip = existsSync(SDK) ? false : 'npm install --prefix test/peers'

t.test('the client of the official SDK reads and searches a site', { skip }, async (t) => {
  const { port } = await site(
    t,
    ({ url }, response) => {
      const isFront = url === '/'
      response.writeHead(isFront || url === '/page' ? 200 : 404, { 'content-type': 'text/html' })
      response.end(isFront ? '<h1>Front</h1><a href="/page">The page</a>' : '<h1>Page</h1><p>About herons.')
    },
    { agents: 'mcp: true, hint: true', markdown: 'llms_txt: front_page', hostnames: ['*'] },
  )
  const { Client } = (await import(pathToFileURL(`${SDK}index.js`).href)) as {
    Client: new (info: object) => SdkClient
  }
  const { StreamableHTTPClientTransport } = (await import(pathToFileURL(`${SDK}streamableHttp.js`).href)) as {
    StreamableHTTPClientTransport: new (url: URL, options: object) => unknown
  }
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/.well-known/mcp`), {}))
  t.match(client.getServerVersion(), { name: /\/site$/, version: '1.2.3' })
  t.match(client.getInstructions(), /fetch/)
  await client.ping()
  t.same(
    (await client.listTools()).tools.map(({ name }) => name),
    ['fetch', 'search'],
  )
  const read = await client.callTool({ name: 'fetch', arguments: { path: '/page' } })
  t.match(read.content, [{ type: 'text', text: /# Page\n\nAbout herons\./ }])
  t.match(read.structuredContent, { id: '/page', title: 'Page' })
  const found = await client.callTool({ name: 'search', arguments: { query: 'herons' } })
  t.match(found.structuredContent, { results: [{ id: '/page', title: 'Page' }] })
  t.match(await client.callTool({ name: 'fetch', arguments: { path: '/none' } }), { isError: true })
  await client.close()
})
