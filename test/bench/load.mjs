import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { inChild, SHORT } from './measure.mjs'
import { installed } from './ports.mjs'

const run = promisify(execFile)

/**
 * Who sends the requests: wrk where it is installed, because it is much faster than what it measures. The short form takes
 * parts of a second, which wrk does not.
 */
export const LOADER = installed('wrk') && !SHORT ? 'wrk' : 'node:net'

/**
 * Keep-alive load on one URL of `host` for a bounded time: { requests, p50, p99 }, times in milliseconds. Throws on a
 * failed request. With `hosts`, requests go to that number of names below bench.test in turn; `skewed`: the first names get most. `hosts` and another
 * `status` need node:net.
 */
export async function load(
  port,
  { connections, seconds, headers = [], path = '/', host = 'bench.test', hosts = 0, skewed = false, status = 200 },
) {
  if (LOADER !== 'wrk' || hosts > 0 || status !== 200) {
    const response = await inChild('./load-child.mjs', [
      String(port),
      String(connections),
      String(seconds),
      String(hosts),
      String(skewed),
      String(status),
      path,
      host,
      ...headers,
    ])
    if (response.failed) throw new Error(response.failed)
    return response
  }
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency']
  const fields = [`Host: ${host}`, ...headers].flatMap((header) => ['-H', header])
  const { stdout } = await run('wrk', [...options, ...fields, `http://127.0.0.1:${port}${path}`])
  const failed = /Non-2xx.*|Socket errors: (?!connect 0, read 0, write 0).*/.exec(stdout)
  if (failed) throw new Error(failed[0])
  return {
    requests: Number(/(\d+) requests in/.exec(stdout)[1]),
    p50: milliseconds(/ 50%\s+(\S+)/.exec(stdout)[1]),
    p99: milliseconds(/ 99%\s+(\S+)/.exec(stdout)[1]),
  }
}

const UNITS = { us: 0.001, ms: 1, s: 1000 }
const milliseconds = (text) => parseFloat(text) * UNITS[text.replace(/^[\d.]+/, '')]
