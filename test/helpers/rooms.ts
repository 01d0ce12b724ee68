/** The rooms of the code and the imports that are allowed between them. Lint and `test/rooms.test.ts` enforce it. */

/**
 * A room may import itself, `src/core`, the rooms of `may`, the files of `files`, and types of the files of `types`.
 * `src/commands` and `src/daemon` may import everything and are not listed.
 */
export interface Room {
  readonly may?: readonly string[]
  readonly files?: readonly string[]
  readonly types?: readonly string[]
  /** No I/O: no files, connections or processes. */
  readonly pure?: true
}

const CONFIG_TYPES = ['src/config/schema.ts']

/** An area of the API: what all areas may import, and its subject. */
const area = (room: Room = {}): Room => ({
  ...room,
  may: ['control/http', 'control/resources', ...(room.may ?? [])],
  types: CONFIG_TYPES,
})

export const ROOMS: Readonly<Record<string, Room>> = {
  'src/core': { pure: true },
  'src/disk': {},
  'src/release': {},
  'src/expr': { pure: true },
  'src/http': {},
  'src/egress': {},
  'src/history': {},
  'src/store': { may: ['src/disk'] },
  'src/agents': { may: ['src/expr'] },
  'src/lists': { may: ['src/expr'] },
  'src/rules': { may: ['src/expr', 'src/http'] },
  'src/webhooks': { may: ['src/egress'] },
  'src/workers': {},
  'src/config': {
    may: ['src/agents', 'src/lists', 'src/rules', 'src/egress', 'pipelines/records'],
    files: [
      'src/expr/language/ip.ts',
      'pipelines/logpush/settings/compiled-job.ts',
      'pipelines/logpush/settings/parquet-job.ts',
      'pipelines/logpush/spool/json-text.ts',
      'pipelines/logpush/spool/nats/target.ts',
    ],
  },
  'src/plugins': { may: ['src/config', 'src/expr', 'src/rules', 'pipelines/records', 'sinks'] },
  'src/tls': {},
  'src/telemetry': {},
  'src/edge': {
    may: [
      'src/agents',
      'src/disk',
      'src/history',
      'src/http',
      'src/tls',
      'src/expr',
      'src/rules',
      'src/telemetry',
      'src/workers',
      'pipelines/markdown',
    ],
    types: CONFIG_TYPES,
  },
  'pipelines/markdown': { pure: true },
  'pipelines/records': {
    files: ['src/expr/language/budget.ts', 'src/expr/regex/groups.ts'],
    pure: true,
  },
  'pipelines/logpush': { may: ['src/disk', 'pipelines/records'] },
  'pipelines/sources': { may: ['src/disk', 'pipelines/logpush', 'pipelines/records'] },
  'pipelines/run': { may: ['src/disk', 'pipelines/logpush', 'pipelines/records', 'pipelines/sources'] },
  sinks: { may: ['src/disk', 'src/egress', 'src/release'] },
  'control/http': {
    may: ['pipelines/sources'],
    files: ['src/http/listen.ts', 'src/edge/client/client-address.ts', 'src/expr/language/ip.ts'],
    types: CONFIG_TYPES,
  },
  'control/openapi': { may: ['control/http'], files: ['src/webhooks/payload-schema.ts'] },
  'control/ui': { may: ['control/http', 'control/openapi'] },
  'control/resources': { may: ['control/http'] },
  'control/accounts': area(),
  'control/tokens': area(),
  'control/zones': area({ files: ['control/rulesets/list-references.ts', 'src/tls/acme/records.ts'] }),
  'control/rulesets': area({ may: ['src/rules', 'src/expr'], files: ['control/lists/list-by-name.ts'] }),
  'control/lists': area({ may: ['src/lists'], files: ['src/rules/rulesets/referenced-lists.ts'] }),
  'control/logpush': area({ may: ['pipelines/logpush', 'pipelines/records', 'pipelines/sources'] }),
  'control/overview': area({
    may: ['pipelines/markdown', 'src/history'],
    files: [
      'control/zones/certificate-packs.ts',
      'control/zones/certificate-states.ts',
      'control/zones/hostname-match.ts',
      'src/agents/access/access.ts',
    ],
  }),
  'control/storage': area({ may: ['src/workers'] }),
  'control/webhooks': area({ may: ['src/webhooks', 'src/egress'] }),
  'control/workers': area({
    may: ['src/workers', 'control/storage'],
    files: ['control/zones/hostname-match.ts'],
  }),
}

/** Modules that a pure room must not import. */
export const IO_MODULES = [
  'node:fs',
  'node:fs/*',
  'node:net',
  'node:http',
  'node:https',
  'node:http2',
  'node:child_process',
]

/** Rooms at the top, which only the named room or file may import. */
export const TOP: Readonly<Record<string, readonly string[]>> = {
  'src/commands': ['src/cli.ts'],
  'src/daemon': ['src/commands/'],
}

/** Rooms whose loose files are the ground of the room: they import none of its folders, not even for types. */
export const GROUNDS: readonly string[] = ['src/core', 'src/rules', 'src/webhooks']

/**
 * Returns the lint configuration of one room: it denies the imports that the table does not allow. With `isGround` that
 * of its loose files.
 */
function lintOverride(name: string, isGround = false): object {
  const { may = [], files = [], types = [], pure = false } = ROOMS[name]!
  const denied = [...Object.keys(ROOMS), ...Object.keys(TOP)].filter(
    (room) => room !== name && room !== 'src/core' && !may.includes(room),
  )
  const patterns = [
    ...denied.flatMap((room) => specifiers(name, room)),
    ...[...files, ...types].map((file) => `!**/${file.replace(/^(src|control)\//, '').replace(/ts$/, 'js')}`),
  ]
  const message = `${name} may import ${['src/core', ...may, ...files, ...types].join(', ')} (test/helpers/rooms.ts)`
  return {
    files: [isGround ? `${name}/*.ts` : `${name}/**`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: patterns, message },
            ...(isGround ? [{ group: ['./*/**'], message: `loose files of ${name} import none of its folders` }] : []),
            ...(pure ? [{ group: IO_MODULES, message: `${name} does no I/O` }] : []),
          ],
        },
      ],
    },
  }
}

/** Returns patterns of the import specifiers that lead from `room` to `other`. */
function specifiers(room: string, other: string): string[] {
  const [top, inner] = other.split('/')
  if (top !== room.split('/')[0] || inner === undefined) return [`**/${other}/**`]
  // An area of `control` can have the name of a room of `src`, so `**` is too wide there.
  return top === 'control' ? [`../${inner}/**`, `../../${inner}/**`, `**/${other}/**`] : [`**/${inner}/**`]
}

/** The lint configuration of all rooms, and of the loose files of those with a ground. */
export const lintOverrides = (): object[] => [
  ...Object.keys(ROOMS).map((name) => lintOverride(name)),
  ...GROUNDS.map((name) => lintOverride(name, true)),
]
