// Preloaded by node: the wall clock of the process is as many milliseconds off as the file `shift` beside the configuration says. Timers and
// performance.now() do not change.
import { readFileSync } from 'node:fs'

const { now } = Date
const file = process.argv.at(-1)?.replace(/edged\.yaml$/, 'shift')
let shift = 0
const read = () => {
  try {
    shift = Number(readFileSync(file, 'utf8'))
  } catch {
    shift = 0
  }
}
setInterval(read, 20).unref()
Date.now = () => now() + shift
globalThis.Date = new Proxy(Date, {
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [Date.now()] : args),
})
