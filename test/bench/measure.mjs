import { fork } from 'node:child_process'
import { once } from 'node:events'

/** Whether the benchmark only has to work: `npm run bench -- NAME --short`. Its figures mean nothing then. */
export const SHORT = process.env.EDGED_BENCH_SHORT === '1'

/** The amount of work of a benchmark: `full`, or `short` in the short form. */
export const sized = (full, short) => (SHORT ? short : full)

/** CPU seconds (user and system, all threads) that `work` takes. */
export async function cpuSeconds(work) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

export const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

/** A number for a table. A dash if there is none, because no request ended in a short round on a busy machine. */
export const digits = (number, count) => number?.toFixed(count) ?? '-'

/** Runs one module in a process of its own and gives what it sends; undefined, with its words, where it fails. */
export async function inChild(module, args, options = {}) {
  const child = fork(new URL(module, import.meta.url), args, { silent: true, ...options })
  let errors = ''
  child.stderr.on('data', (text) => (errors += text))
  let result
  child.on('message', (message) => (result = message))
  const [code] = await once(child, 'exit')
  if (result === undefined)
    return { failed: errors.split('\n').find((line) => /Error|Cannot/.test(line)) ?? `exit ${code}` }
  return result
}

/** Prints rows of an array of objects as an aligned table. */
export function table(rows) {
  const columns = Object.keys(rows[0])
  const width = (column) => Math.max(column.length, ...rows.map((row) => String(row[column] ?? '').length))
  const line = (cells) => console.log(cells.map((cell, i) => String(cell ?? '').padEnd(width(columns[i]))).join('  '))
  line(columns)
  for (const row of rows) line(columns.map((column) => row[column]))
}
