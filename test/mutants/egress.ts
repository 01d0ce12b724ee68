import { of, type Mutant } from './mutant.js'

/** Guards of outgoing connections and data. */
export const EGRESS: readonly Mutant[] = [
  // Files that destinations write, and the text that is shown of these files.
  ...of(
    'sinks/file.ts',
    'test/sinks/local.test.ts',
    ["if (rest !== '..' && !rest.startsWith(`..${sep}`)) return", 'return'],
    [`if (!isNew && !(await fs.lstat(next)).isDirectory()) throw`, 'if (false) throw'],
  ),
  ...of(
    'sinks/redact.ts',
    'test/sinks/destinations.test.ts',
    [`if (SECRET.test(name) || secrets.includes(name)) return true`, ''],
    ['authority.replace(/^\\/\\/.*@/, `//${HIDDEN}@`)', 'authority'],
  ),

  // Addresses that nothing connects to.
  ...of(
    'src/egress/addresses.ts',
    'test/egress/egress.test.ts',
    [`  ['0.0.0.0', 8],\n`, ''],
    [`  ['10.0.0.0', 8],\n`, ''],
    [`  ['100.64.0.0', 10],\n`, ''],
    [`  ['127.0.0.0', 8],\n`, ''],
    [`  ['168.63.129.16', 32],\n`, ''],
    [`  ['169.254.0.0', 16],\n`, ''],
    [`  ['172.16.0.0', 12],\n`, ''],
    [`  ['192.0.0.0', 24],\n`, ''],
    [`  ['192.168.0.0', 16],\n`, ''],
    [`  ['198.18.0.0', 15],\n`, ''],
    [`  ['224.0.0.0', 4],\n`, ''],
    [`  ['240.0.0.0', 4],\n`, ''],
    [`  ['2001::', 23],\n`, ''],
    [`  ['2002::', 16],\n`, ''],
    [`family !== 6 || address.includes('%')`, 'family !== 6'],
    [`globalUnicast.check(address, 'ipv6') && `, ''],
  ),
  ...of(
    'src/egress/guarded-egress.ts',
    'test/egress/egress.test.ts',
    [`&& denied === undefined`, ''],
    [`if (!this.#gate.mayDial(host, port)) throw this.#notPublic(host, port)`, ''],
    [`const may = isIP(host) === 0 || this.allows(host, port)`, 'const may = true'],
  ),
  ...of('src/edge/origins/origin-target.ts', 'test/daemon/route-targets.test.ts', [` && origin.port === port`, '']),
  ...of(
    'src/egress/public-url.ts',
    'test/egress/egress.test.ts',
    [`if (url.port === '0') throw`, 'if (false) throw'],
    [`if (/^https:\\/\\/[^/?#]*@/i.test(text)) throw`, 'if (false) throw'],
  ),

  // What webhooks are sent.
  ...of('src/webhooks/header-rules.ts', 'test/control/webhooks/webhooks.test.ts', [
    `if (RESERVED.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix)))`,
    'if (false)',
  ]),
  ...of('src/webhooks/http-post.ts', 'test/webhooks/sender-hostile.test.ts', [
    `if (read >= MAX_READ_BYTES) enough()`,
    '',
  ]),
]
