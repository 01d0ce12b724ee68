// npm run e2e:nodes [-- --short | PATH...]: the end-to-end tests, or those at the paths, under other versions of Node.js,
// which npm installs from the registry (package `node`). Exit 1 if tests fail under one of them. `--short`: some tests of
// what depends on the version most; a version that cannot be installed is skipped.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const VERSIONS = [22, 24]
/** The gate runs all end-to-end tests under Node.js 24, and the short form under the others. */
const SHORT_VERSIONS = [20, 22]
/** Frames of HTTP/2, which is on by default in these versions; processes that share sockets; a whole daemon, its memory. */
const SHORT = [
  'test/edge/client/http2-frames.test.ts',
  'test/edge/client/http2.test.ts',
  'test/edge/client/https.test.ts',
  'test/e2e/socket-activation.test.ts',
  'test/e2e/control.test.ts',
  'test/e2e/memory.test.ts',
]

const options = process.argv.slice(2)
const short = options[0] === '--short'
const paths = short ? SHORT : options.length > 0 ? options : ['test/e2e']
const failed = []
const skipped = []
for (const version of short ? SHORT_VERSIONS : VERSIONS) {
  console.log(`\n== Node.js ${version}`)
  if (short && !(await succeeds(version, ['--version']))) skipped.push(version)
  else if (!(await succeeds(version, ['test/run.mjs', ...paths]))) failed.push(version)
}
if (skipped.length > 0) console.log(`\nSkipped: npm cannot install Node.js ${skipped.join(' and ')} here`)
if (failed.length > 0) console.error(`\nfailed under Node.js ${failed.join(' and ')}`)
process.exitCode = failed.length > 0 ? 1 : 0

/** Runs a version of Node.js with these arguments. */
async function succeeds(version, args) {
  const command = ['--yes', '-p', `node@${version}`, '--', 'node', ...args]
  const [code] = await once(spawn('npx', command, { stdio: 'inherit' }), 'exit')
  return code === 0
}
