import { escapePattern, literal, noneOf, part, PATH, patternLiteral } from '../site/condition.js'
import { textOnly, type Alternative } from '../site/template.js'
import type { Segment } from './parse.js'
import type { Patterns } from './placeholders.js'
import type { Region } from './region.js'
import type { ZoneDraft } from './zone-draft.js'

/** Adds the rule of a directive that changes the path or the query. */
export function rewrite(
  draft: ZoneDraft,
  segment: Segment,
  args: readonly string[],
  region: Region,
  patterns: Patterns,
): void {
  const { name, place } = segment
  const what = `${name} ${segment.args.join(' ')}`
  if (name === 'uri') return changeUri(draft, args, region, segment)
  if (name === 'try_files') return tryFiles(draft, args, region, segment)
  if (name === 'method') return draft.context.report.add(place, what, 'rules do not change the method')
  const [to = ''] = args
  // The query of the request stays unless the target has one.
  const [given = '', query] = to.includes('?') ? [to.slice(0, to.indexOf('?')), to.slice(to.indexOf('?') + 1)] : [to]
  const path = given.replaceAll('{uri}', '{path}')
  const texts =
    path === ''
      ? undefined
      : draft.texts(path.startsWith('/') || path.startsWith('{') ? path : `/${path}`, region, patterns)
  const queries = query === undefined || query === '{query}' ? undefined : draft.texts(query, region, patterns)
  const wrong = [texts, queries].find((each) => typeof each === 'string')
  if (typeof wrong === 'string') return draft.context.report.add(place, what, wrong)
  const first = (texts as readonly Alternative[] | undefined)?.[0]
  const second = (queries as readonly Alternative[] | undefined)?.[0]
  change(
    draft,
    region,
    { ...(first && { path: textOnly(first) }), ...(second && { query: textOnly(second) }) },
    segment,
    what,
  )
  if (path !== '' && region.isByPath) draft.move(region.globs, path.split('{', 1)[0]!)
}

function change(draft: ZoneDraft, region: Region, uri: object, { place }: Segment, what: string): void {
  draft.sheet.add(
    'http_request_transform',
    { when: region.early, action: 'rewrite', action_parameters: { uri } },
    place,
    what,
  )
}

function changeUri(
  draft: ZoneDraft,
  [operation = '', first = '', second = '']: readonly string[],
  region: Region,
  segment: Segment,
): void {
  const what = `uri ${segment.args.join(' ')}`
  const replaced = (pattern: string, by: string) =>
    change(
      draft,
      region.within({ when: (field) => part(`${field} matches ${patternLiteral(pattern)}`) }),
      { path: { expression: `regex_replace(${PATH}, ${patternLiteral(pattern)}, ${literal(by)})` } },
      segment,
      what,
    )
  switch (operation) {
    case 'strip_prefix': {
      const prefix = region.prefix + (first.startsWith('/') ? first : `/${first}`)
      const inner = region.within({
        when: () => part(`starts_with(${PATH}, ${literal(prefix)})`),
        paths: [`${prefix}*`],
      })
      for (const glob of inner.globs)
        draft.strips.push({ glob, except: inner.except, value: { strip_prefix: prefix.replace(/(?<=.)\/$/, '') } })
      return
    }
    case 'strip_suffix':
      return replaced(`${escapePattern(first)}$`, '')
    case 'replace':
      draft.context.report.add(segment.place, what, 'only the first place in the path is replaced')
      return replaced(escapePattern(first), second.replaceAll('$', '$$$$'))
    case 'path_regexp':
      draft.context.report.add(segment.place, what, 'only the first match is replaced')
      return replaced(first, second.replaceAll(/\$(\d)/g, '${$1}'))
    default:
      return draft.context.report.add(segment.place, what, 'rules have no such change of the path')
  }
}

function tryFiles(draft: ZoneDraft, files: readonly string[], region: Region, segment: Segment): void {
  const what = `try_files ${files.join(' ')}`
  const last = files.at(-1) ?? ''
  const [page = ''] = last.split('?', 1)
  const { report } = draft.context
  if (files.includes('{path}.html')) report.add(segment.place, what, '{path}.html is not looked for')
  if (!/^\/[\w./-]+\.html?$/.test(page)) {
    if (!/^(=404|\{path\}(\/|\.html)?)$/.test(last))
      report.add(segment.place, what, `${last} is not served for missing files; they get 404`)
    return
  }
  report.add(segment.place, what, `paths without a dot in their last part get ${page}; missing files with one get 404`)
  const plain = region.within({
    when: (field) => noneOf(part(`${field} matches ${patternLiteral(String.raw`(\.[^/]*|^/)$`)}`)),
  })
  change(draft, plain, { path: { value: page === '/index.html' ? '/' : page } }, segment, what)
}
