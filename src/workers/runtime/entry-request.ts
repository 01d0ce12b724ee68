import { request as httpRequest } from 'node:http'
import type { RuntimeEntry } from './shard.js'

/** Sends a POST request and returns its JSON. Rejects if the response is an error. */
export async function request(
  entry: RuntimeEntry,
  { path, body, headers }: { readonly path: string; readonly body: string; readonly headers?: Record<string, string> },
): Promise<unknown> {
  try {
    return await new Promise<unknown>((resolve, reject) => {
      const options = { socketPath: entry.socket, path, method: 'POST', headers: headers ?? {}, agent: false as const }
      const sent = httpRequest(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          if (response.statusCode !== 200) reject(new Error(`the runtime responded with ${response.statusCode}`))
          else resolve(JSON.parse(text))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  } finally {
    entry.done()
  }
}
