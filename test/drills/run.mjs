// npm run drills [-- NAME [options]]: attacks on the built daemon, and loads under which it must not fail. Exit 1 if a
// limit is passed.
const DRILLS = {
  attacks:
    'slow and stalled clients, costly records, damaged logs of the store, spellings of Host, renegotiation, used-up descriptors; what other clients see (default); --only TEXT',
  kill: 'kill -9 of a proxy process every second under load; --seconds N, --max-replace-ms N',
  machines: 'kill -9 of two daemons, Redis and NATS in turn under load: nothing is lost, and the times; --kills N',
  soak: 'mixed traffic of every kind: memory, handles and latency at its beginning and end; --minutes N',
  backup:
    'a backup under writes to D1, Durable Objects, KV and rules, restored elsewhere and compared; --seconds N, --mebibytes N',
  cache: 'kill -9 and a full disk while files of the cache are written: no wrong byte; --objects N, --full-objects N',
  rotation:
    'edged run over a file that is rotated every second under load, with kill -9; --seconds N, --rate N, --kill-every N',
  workers:
    'uploads under load, scripts that loop or leak, kill -9 of the runtime and of the daemon; --uploads N, --quiet-ms N',
  agents:
    '200 user agents, half of them lying, in front of `access`, and key directories that are slow, huge, wrong or private; --max-ms N',
  garden:
    'mutated messages through nginx, HAProxy, Apache, Varnish and Caddy before and behind edged: nobody reads more requests than were meant; --cases N, --seed N, --only TEXT',
  mixing: 'HTTP/2 clients that reset and abort: every response is for its stream; --seconds N, --clients N',
}
/** No drill takes longer, or much longer than it is told to. */
const MAX_SECONDS = 300
const END_SECONDS = 180
/** For each case of the drill of other servers, and the default of `--cases`. */
const CASE_SECONDS = 0.05
const CASES = 100_000
/** For each `--kills` of the drill of machines. */
const KILL_SECONDS = 40
const KILLS = 20
/** For all attacks. */
const ATTACK_SECONDS = 900

const [name = 'attacks', ...options] = process.argv.slice(2)
if (!(name in DRILLS)) {
  console.error(`unknown drill ${name}; there are:`)
  for (const [drill, help] of Object.entries(DRILLS)) console.error(`  ${drill.padEnd(8)} ${help}`)
  process.exit(2)
}
/** Returns the number behind `--NAME` on the command line. */
const option = (wanted, otherwise) => {
  const at = options.indexOf(`--${wanted}`)
  return at < 0 ? otherwise : Number(options[at + 1])
}

/** Returns the text behind `--NAME` on the command line. */
const text = (wanted) => {
  const at = options.indexOf(`--${wanted}`)
  return at < 0 ? undefined : options[at + 1]
}

const asked = Math.max(option('seconds', 0), option('minutes', name === 'soak' ? 30 : 0) * 60)
const kills = name === 'machines' ? option('kills', KILLS) * KILL_SECONDS : 0
const limit = Math.max(
  name === 'attacks' ? ATTACK_SECONDS : MAX_SECONDS,
  kills,
  name === 'garden' ? option('cases', CASES) * CASE_SECONDS : 0,
  asked + END_SECONDS + (name === 'soak' ? END_SECONDS : 0),
)
setTimeout(() => {
  console.error(`not finished after ${limit} s`)
  process.exit(1)
}, limit * 1000).unref()

const { drill } = await import(`./${name}.mjs`)
const failures = await drill(option, text)
for (const failure of failures) console.error(`FAILED: ${failure}`)
process.exit(failures.length > 0 ? 1 : 0)
