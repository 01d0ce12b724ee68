import { dirname, resolve } from 'node:path'
import type { Static } from 'typebox'
import { isNode } from 'yaml'
import { InvalidInput, type Issue } from '../core/errors.js'
import { issuesOf, parser } from '../core/schema.js'
import { absoluteAgents, configuredCatalogue } from './zones/agents.js'
import type { Auth } from './zones/auth.js'
import { accountIssues, sectionIssues, sourceIssues, zoneIssues } from './cross-check.js'
import { ConfigFile, type Config, type FilePlaces } from './schema.js'
import { absoluteBackup, backupIssues } from './backup.js'
import { configuredPipelines, isOnePipeline, keepDigits, type PipelineChecks } from './pipeline-file.js'
import type { Root } from './zones/paths.js'
import { withNewNames } from './renamed.js'
import type { ControlTls, ProxyTls } from './tls.js'
import { soundPart } from './sound-part.js'
import { resolveUnits } from './units.js'
import type { Pipeline } from './pipeline.js'
import { badFile, readText, readYaml, type Environment, type YamlFile } from './yaml.js'

export { BadConfig, type Environment, type ConfigIssue } from './yaml.js'

const parse = parser(ConfigFile, { defaults: true })
const wrongShape = issuesOf(ConfigFile, { defaults: true })

/** Checks of the files that the configuration names. Each returns an issue's message, or undefined. */
export interface ConfigChecks extends PipelineChecks {
  readonly certificate: (files: ControlTls) => string | undefined
  readonly authority: (file: string) => string | undefined
  readonly program: (path: string) => string | undefined
  readonly usersFile: (path: string) => string | undefined
}

const NO_SECTIONS = 'must have sections such as `zones:`; `edged schema config --yaml` shows them all'

const NO_CHECKS: ConfigChecks = {
  destination: () => undefined,
  locator: () => () => undefined,
  transform: (file) => ({ file, main: '', modules: [], digest: '' }),
  jobDestination: () => undefined,
  certificate: () => undefined,
  authority: () => undefined,
  program: () => undefined,
  usersFile: () => undefined,
}

/** Reads a configuration file; throws {@link BadConfig} with every issue found. */
export function loadConfig(
  file: string,
  environment: Environment = process.env,
  checks: ConfigChecks = NO_CHECKS,
): Config {
  return readConfig(readText(file), file, environment, checks)
}

/** Reads the text of a configuration file; `file` is its name in messages, and its paths are relative to it. */
export function readConfig(
  text: string,
  file: string,
  environment: Environment = process.env,
  checks: ConfigChecks = NO_CHECKS,
): Config {
  return readParts(text, file, environment, checks).config
}

/** A configuration, and the documents that its pipelines were compiled from: a thread cannot send functions to another. */
export interface ConfigParts {
  readonly config: Config
  readonly documents: readonly unknown[]
}

/** Returns the pipelines of a valid configuration, compiled again. */
export function compiledPipelines(
  config: Omit<Config, 'pipelines'>,
  documents: readonly unknown[],
  file: string,
  checks: ConfigChecks,
): Config['pipelines'] {
  const { pipelines, issues } = configuredPipelines(documents, file, checks, config)
  if (issues.length > 0) throw new InvalidInput(issues)
  return pipelines.filter((pipeline) => pipeline !== undefined)
}

/** As {@link readConfig}. */
export function readParts(text: string, file: string, environment: Environment, checks: ConfigChecks): ConfigParts {
  const yaml = readYaml(text, file, environment)
  if (isOnePipeline(yaml.document.contents)) throw badFile(file, 'is a pipeline file: edged run FILE runs it')
  const listed = yaml.document.get('pipelines', true)
  if (isNode(listed)) keepDigits(listed)
  return yaml.checked((value, reject) => {
    if (value === null || value === undefined)
      reject([{ pointer: '', message: 'is empty; edged init writes a file to begin with' }])
    if (typeof value !== 'object' || Array.isArray(value)) reject([{ pointer: '', message: NO_SECTIONS }])
    const given = withOff(value ?? {})
    const issues = withNewNames(wrongShape(given))
    // Malformed sections are treated as absent, so that the others are checked as well.
    if (issues.some(({ pointer }) => pointer === '')) reject(issues)
    const sound = soundPart(given, issues)
    const resolved = resolveUnits(ConfigFile, parse(sound.value)) as Static<typeof ConfigFile>
    const listed = configuredPipelines(resolved.pipelines, file, checks, resolved)
    const pipelines = listed.pipelines.filter((pipeline) => pipeline !== undefined)
    const config = { ...resolved, pipelines }
    const whole = absolute(config, dirname(resolve(file)))
    issues.push(...listed.issues, ...deadLetterIssues(whole, checks))
    issues.push(...certificateIssues(whole, checks).map(sound.place))
    issues.push(...usersFileIssues(whole, checks).map(sound.place))
    if (whole.backup) issues.push(...backupIssues(whole.backup, whole.data, (text) => checks.destination(text)))
    const agents = configuredCatalogue(whole.agents)
    issues.push(...agents.issues)
    issues.push(
      ...sectionIssues(config).map(sound.place),
      ...zoneIssues(config, agents.catalogue).map(sound.place),
      ...accountIssues(sound),
    )
    for (const [index, pipeline] of listed.pipelines.entries())
      if (pipeline !== undefined) issues.push(...sourceIssues(sound.ids, pipeline, `/pipelines/${index}/source`))
    reject(issues)
    return {
      config: { ...whole, places: filePlaces(whole, listed.pipelines, yaml, file) },
      documents: resolved.pipelines,
    }
  })
}

/** Returns the sections of a file with the options that `false` stands for, of each section that can be off. */
function withOff(given: object): object {
  const sections = ConfigFile.properties as Readonly<Record<string, { readonly 'x-off'?: object }>>
  const off = Object.entries(given).flatMap(([name, value]): [string, object][] => {
    const options = value === false ? sections[name]?.['x-off'] : undefined
    return options ? [[name, { ...options }]] : []
  })
  return off.length === 0 ? given : { ...given, ...Object.fromEntries(off) }
}

/** Returns where the objects of the file are. */
function filePlaces(
  { accounts, zones, lists }: Config,
  pipelines: readonly (Pipeline | undefined)[],
  { lineOf }: YamlFile,
  file: string,
): FilePlaces {
  const lines: Record<string, readonly number[]> = {}
  for (const [section, entries] of Object.entries({ accounts, zones }))
    for (const [index, { id, rules }] of entries.entries())
      for (const [phase, list] of Object.entries(rules)) {
        const at = `/${section}/${index}/rules/${phase}`
        lines[`${id}/${phase}`] = [lineOf(at), ...list.map((_, rule) => lineOf(`${at}/${rule}`))]
      }
  const objects = Object.fromEntries([
    ...zones.flatMap(({ id, agents }, zone) => [
      [`zone/${id}`, lineOf(`/zones/${zone}`)],
      ...agents.access.map((_, entry) => [`access/${id}/${entry}`, lineOf(`/zones/${zone}/agents/access/${entry}`)]),
    ]),
    ...lists.map(({ name }, index) => [`list/${name}`, lineOf(`/lists/${index}`)]),
    ...pipelines.flatMap((each, index) => (each ? [[`pipeline/${each.name}`, lineOf(`/pipelines/${index}`)]] : [])),
  ])
  return { file, lines, objects }
}

function deadLetterIssues(
  { logpush: { dead_letter: text, destinations }, egress }: Config,
  checks: PipelineChecks,
): Issue[] {
  const message = text === undefined ? undefined : checks.jobDestination(text, { ...destinations, egress })
  return message === undefined ? [] : [{ pointer: '/logpush/dead_letter', message }]
}

/** Files can be named by thousands of paths. */
function usersFileIssues({ zones }: Config, checks: ConfigChecks): Issue[] {
  const found = new Map<string, string | undefined>()
  const issue = (file: string): string | undefined => {
    if (!found.has(file)) found.set(file, checks.usersFile(file))
    return found.get(file)
  }
  return zones.flatMap((zone, index) =>
    [
      [`/zones/${index}`, zone.auth] as const,
      ...zone.paths.map(({ auth }, at) => [`/zones/${index}/paths/${at}`, auth] as const),
    ].flatMap(([pointer, auth]) => {
      const file = auth ? auth.basic?.users_file : undefined
      const message = file === undefined ? undefined : issue(file)
      return message === undefined ? [] : [{ pointer: `${pointer}/auth/basic/users_file`, message }]
    }),
  )
}

function certificateIssues({ proxy, control, zones, egress }: Config, checks: ConfigChecks): Issue[] {
  const files = [
    ...(proxy.tls?.certificates ?? []).map((pair, index) => [`/proxy/tls/certificates/${index}`, pair] as const),
    ...(control.tls ? [['/control/tls', control.tls] as const] : []),
  ]
  const authorities = [
    ['/egress/ca_file', egress.ca_file] as const,
    ['/proxy/tls/acme/ca_file', proxy.tls?.acme?.ca_file] as const,
    ...zones.flatMap(({ client_ca_file: client, origin_ca_file: origin }, index) => [
      [`/zones/${index}/client_ca_file`, client] as const,
      [`/zones/${index}/origin_ca_file`, origin] as const,
    ]),
  ]
  // Thousands of zones can name one file.
  const found = new Map<string, string | undefined>()
  const authority = (file: string) => {
    if (!found.has(file)) found.set(file, checks.authority(file))
    return found.get(file)
  }
  const program = proxy.tls?.acme?.dns?.command[0]
  return [
    { pointer: '/proxy/tls/acme/dns/command/0', message: program === undefined ? undefined : checks.program(program) },
    ...files.map(([pointer, pair]) => ({ pointer, message: checks.certificate(pair) })),
    ...authorities.map(([pointer, file]) => ({ pointer, message: file ? authority(file) : undefined })),
  ].flatMap(({ pointer, message }) => (message === undefined ? [] : [{ pointer, message }]))
}

/** Makes paths absolute. Relative paths in the file are relative to its folder. */
function absolute(config: Config, folder: string): Config {
  const data = resolve(folder, config.data)
  const { key_file: keyFile, ...secrets } = config.secrets
  const { destinations } = config.logpush
  const under = destinations.allow_file_under.map((path) => resolve(folder, path))
  const { ca_file: caFile, ...egress } = config.egress
  const { tls } = config.proxy
  const { disk } = config.cache
  const { catalogue } = config.agents
  const accessLog = config.access_log
  const proxyTls = tls && absoluteTls(tls, folder)
  const controlTls = config.control.tls && absoluteFiles(config.control.tls, folder)
  return {
    ...config,
    data,
    secrets: { ...secrets, key_file: keyFile === undefined ? resolve(data, 'secret.key') : resolve(folder, keyFile) },
    ...(config.backup && { backup: absoluteBackup(config.backup, folder) }),
    ...(accessLog && accessLog.file !== '-' && { access_log: { ...accessLog, file: resolve(folder, accessLog.file) } }),
    proxy: proxyTls ? { ...config.proxy, tls: proxyTls } : config.proxy,
    control: controlTls ? { ...config.control, tls: controlTls } : config.control,
    cache: disk ? { ...config.cache, disk: { ...disk, folder: resolve(folder, disk.folder) } } : config.cache,
    egress: caFile === undefined ? egress : { ...egress, ca_file: resolve(folder, caFile) },
    geo: Object.fromEntries(Object.entries(config.geo).map(([name, path]) => [name, resolve(folder, path)])),
    logpush: { ...config.logpush, destinations: { ...destinations, allow_file_under: under } },
    agents: catalogue === null ? config.agents : { ...config.agents, catalogue: resolve(folder, catalogue) },
    plugins: config.plugins.map((path) => resolve(folder, path)),
    zones: config.zones.map((zone) => {
      const { origin_ca_file: origin, client_ca_file: client } = zone
      return {
        ...absolutePart(zone, folder),
        paths: zone.paths.map((path) => absolutePart(path, folder)),
        agents: absoluteAgents(zone.agents, folder),
        ...(origin !== undefined && { origin_ca_file: resolve(folder, origin) }),
        ...(client !== undefined && { client_ca_file: resolve(folder, client) }),
      }
    }),
  }
}

/** A zone or a path of it with the absolute paths of its folder and its file of users. */
function absolutePart<T extends { root?: Root; auth?: Auth | false }>(part: T, folder: string): T {
  const { root, auth } = part
  const file = auth ? auth.basic?.users_file : undefined
  return {
    ...part,
    ...(root !== undefined && {
      root: typeof root === 'string' ? resolve(folder, root) : { ...root, folder: resolve(folder, root.folder) },
    }),
    ...(auth &&
      auth.basic &&
      file !== undefined && {
        auth: { ...auth, basic: { ...auth.basic, users_file: resolve(folder, file) } },
      }),
  }
}

/** A certificate and its key, by absolute paths. */
function absoluteTls(tls: ProxyTls, folder: string): ProxyTls {
  const { acme } = tls
  const certificates = tls.certificates.map((files) => absoluteFiles(files, folder))
  if (!acme) return { ...tls, certificates }
  const { ca_file: caFile, dns } = acme
  const absoluteAcme = {
    ...acme,
    ...(typeof caFile === 'string' && { ca_file: resolve(folder, caFile) }),
    ...(dns && { dns: { command: absoluteCommand(dns.command, folder) } }),
  }
  return { ...tls, certificates, acme: absoluteAcme }
}

/** A program with a slash is a path. Another one is found by PATH. */
const absoluteCommand = ([program = '', ...rest]: readonly string[], folder: string): string[] => [
  program.includes('/') ? resolve(folder, program) : program,
  ...rest,
]

const absoluteFiles = (files: ControlTls, folder: string): ControlTls => ({
  cert_file: resolve(folder, files.cert_file),
  key_file: resolve(folder, files.key_file),
})
