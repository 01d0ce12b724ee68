import type { Readable } from 'node:stream'
import type { Input } from './input.js'
import { spoolInput, type TakingDeps } from './spool-input.js'
import { commitPatiently, takeRecords } from './record-intake.js'

/** Records of a stream such as standard input: NDJSON or one JSON array, gzip or not. */
export async function stdinInput(stream: Readable, deps: TakingDeps): Promise<Input> {
  const { tally, clock } = deps
  return await spoolInput(deps, {
    endless: false,
    async take(open, signal) {
      const writer = open()
      const leave = () => stream.destroy()
      signal.addEventListener('abort', leave, { once: true })
      const reject = (line: number, message: string) => tally.reject(`standard input:${line}`, message)
      const commit = async () => await commitPatiently(writer, clock, signal)
      await takeRecords(stream, writer, { reject, commit, taken: tally })
    },
  })
}
