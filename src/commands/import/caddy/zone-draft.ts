import { resolve } from 'node:path'
import { allOf, anyOf, literal, noneOf, part, PATH, type Condition } from '../site/condition.js'
import { respond } from '../site/fixed-response.js'
import { contains, entriesFrom, type Layer } from '../site/layers.js'
import type { Auth, ImportedZone, PathEntry, Target } from '../site/model.js'
import type { Report } from '../site/report.js'
import { RuleSheet } from '../site/rules.js'
import { textsOf, type Alternative } from '../site/template.js'
import type { Segment } from './parse.js'
import { partsOf, type Patterns } from './placeholders.js'
import type { Region } from './region.js'

/** The parts of one zone. */
export interface SiteContext {
  readonly report: Report
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The host of the zone, if the site has others beside it. */
  readonly host: string | undefined
  readonly apart: ReadonlySet<string>
  /** Folder of the Caddyfile, to which paths are relative. */
  readonly folder: string
}

type Options = Omit<PathEntry, 'path'>

/** A zone while the directives of its site are compiled. */
export class ZoneDraft {
  readonly context: SiteContext
  readonly sheet: RuleSheet
  compress = false
  readonly strips: Layer<Options>[] = []
  readonly roots: Layer<string>[] = []
  readonly #content: Layer<Options>[] = []
  readonly #auth: Layer<Options>[] = []
  /** Requests whose origin a rule names. */
  readonly #routed: Condition[] = []
  readonly #moved: { readonly globs: readonly string[]; readonly to: string }[] = []

  constructor(context: SiteContext) {
    this.context = context
    this.sheet = new RuleSheet(context.report)
  }

  /** Returns the zone without its names. */
  zone(): Omit<ImportedZone, 'name' | 'hostnames'> {
    this.#followRewrites()
    const entries = entriesFrom([this.#content, this.#auth, this.strips])
    const everything = entries.find(({ path }) => path === '*')
    const { path: _, auth, strip_prefix: stripped, ...target } = everything ?? { path: '*' }
    const paths = distinct(
      entries,
      { ...target, ...(auth !== undefined && auth !== false && { auth }) },
      stripped !== undefined,
    )
    const rules = this.sheet.byPhase
    return {
      ...target,
      ...(auth !== undefined && auth !== false && { auth }),
      ...(this.compress && { compress: true }),
      cache: 'off',
      ...(paths.length > 0 && { paths }),
      ...(rules && { rules }),
      named: this.sheet.named,
    }
  }

  /** Adds a target for a region: an entry of `paths`, or a rule that names the origin. */
  serve(target: Target, region: Region, { place }: Segment, what: string): void {
    if (region.isByPath) {
      for (const glob of region.globs) this.#content.push({ glob, except: region.except, value: target })
      return
    }
    // The first target counts, and the last rule.
    const when = allOf(region.late, noneOf(anyOf(...this.#routed)))
    this.#routed.push(region.late)
    if (!this.sheet.route(when, target, place, what))
      this.context.report.add(place, what, 'its matcher reads more than the path: a rule can name one origin over http')
  }

  protect(auth: Auth, region: Region, { name, place }: Segment): void {
    const { report } = this.context
    if (!region.isByPath)
      report.add(place, name, 'authentication depends on the path alone; it protects all requests to these paths')
    for (const glob of region.globs) {
      if (this.#auth.some((layer) => contains(layer.glob, glob) && layer.except.length === 0))
        report.add(place, name, 'these paths ask for another authentication already, which stays')
      this.#auth.push({ glob, except: region.isByPath ? region.except : [], value: { auth } })
    }
    this.#rejectOtherSpellings(region, place, name)
  }

  /** Caddy protects /ADMIN with /admin; entries of `paths` compare with case. */
  #rejectOtherSpellings(region: Region, place: Segment['place'], name: string): void {
    const spelled = region.globs.filter((glob) => /[a-z]/i.test(glob))
    for (const glob of spelled) {
      const [start, end] = [glob.split('*')[0]!, glob.split('*').at(-1)!]
      const exact = glob.includes('*')
        ? allOf(
            ...(start ? [part(`starts_with(${PATH}, ${literal(start)})`)] : []),
            ...(end ? [part(`ends_with(${PATH}, ${literal(end)})`)] : []),
          )
        : part(`${PATH} eq ${literal(glob)}`)
      const any = part(`${PATH} wildcard ${literal(glob)}`)
      respond(this.sheet, allOf(any, noneOf(exact)), { status: 404 }, place, `${name}: other spellings of ${glob}`)
    }
  }

  /** Notes that a rule leads the paths of a region elsewhere. */
  move(globs: readonly string[], to: string): void {
    this.#moved.push({ globs, to })
  }

  placeholders(region: Region, patterns: Patterns) {
    return { patterns, prefix: region.prefix, environment: this.context.environment }
  }

  path(text: string): string {
    return resolve(this.context.folder, text)
  }

  texts(text: string, region: Region, patterns: Patterns): readonly Alternative[] | string {
    const found = partsOf(text, this.placeholders(region, patterns))
    if (typeof found === 'string') return `the rules language has no ${found}`
    return textsOf(found.parts, found.captures) ?? 'the rules language cannot make this text'
  }

  /** Targets are chosen by the path of the client: paths that a rewrite leads elsewhere get the target of the new path. */
  #followRewrites(): void {
    for (const { globs, to } of this.#moved) {
      const found = this.#content.find(
        ({ glob, except }) => contains(glob, to) && !except.some((each) => contains(each, to)),
      )
      if (!found) continue
      for (const glob of globs) if (glob !== '*') this.#content.unshift({ glob, except: [], value: found.value })
    }
  }
}

/** Removes entries that repeat the zone, unless a later entry would match their paths. */
function distinct(entries: readonly PathEntry[], zone: Options, keepsLast: boolean): PathEntry[] {
  const kept: PathEntry[] = []
  for (const entry of entries.toReversed()) {
    if (entry.path === '*') {
      if (keepsLast) kept.unshift(entry)
      continue
    }
    const { path, ...own } = entry
    const differing = Object.fromEntries(
      Object.entries(own).filter(
        ([key, value]) => JSON.stringify(value) !== JSON.stringify(zone[key as keyof Options]),
      ),
    )
    const opens = zone.auth !== undefined && (own.auth === undefined || own.auth === false)
    const next = { path, ...differing, ...(opens && { auth: false as const }) }
    const hides = kept.some((other) => overlap(other.path, path))
    if (Object.keys(next).length > 1 || hides) kept.unshift(next)
  }
  return kept
}

/** Returns whether a path may match both patterns. */
const overlap = (a: string, b: string): boolean =>
  contains(a, b) || contains(b, a) || (a.startsWith('*') !== b.startsWith('*') && (a.endsWith('*') || b.endsWith('*')))
