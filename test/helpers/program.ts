import { fileURLToPath } from 'node:url'

/**
 * Returns the arguments of node that run the TypeScript program at `url`, which a test names relative to itself. After
 * `npm test` has converted everything to JavaScript, the program lies beside the test without types.
 */
export function programArgs(url: URL): string[] {
  const file = fileURLToPath(url)
  return import.meta.url.endsWith('.js') ? [file.replace(/\.ts$/, '.js')] : ['--import', 'tsx', file]
}
