import type { Readable } from 'node:stream'
import type { Input } from './intake/input.js'
import { spoolInput, type TakingDeps } from './intake/spool-input.js'
import { commitPatiently, intakeRecords } from './intake/record-intake.js'

/** Records of a stream such as standard input: NDJSON or one JSON array, gzip or not. */
export async function stdinInput(stream: Readable, deps: TakingDeps): Promise<Input> {
  const { stats, clock, lines } = deps
  return await spoolInput(deps, {
    endless: false,
    async take(open, signal) {
      const writer = open()
      const leave = () => stream.destroy()
      signal.addEventListener('abort', leave, { once: true })
      const reject = (line: number, message: string) => stats.reject(`standard input:${line}`, message)
      const commit = async () => await commitPatiently(writer, clock, signal)
      const damaged = (message: string) => stats.damage('standard input', message)
      await intakeRecords(stream, writer, { reject, commit, taken: stats, damaged, lines })
    },
  })
}
