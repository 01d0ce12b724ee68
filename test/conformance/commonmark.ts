/** The examples of the CommonMark specification, there and back: their HTML to Markdown, and that to HTML again. */
import { createRequire } from 'node:module'
import { convert, type ConvertOptions } from '../../pipelines/markdown/index.js'
import { canonical, render } from './round-trip.js'
import type { Case, Suite } from './suite.js'

interface Example {
  readonly number: number
  readonly html: string
  readonly section: string
}

const { tests } = createRequire(import.meta.url)('commonmark-spec') as { tests: readonly Example[] }

type Misses = readonly (readonly [why: string, examples: readonly number[]])[]

/**
 * Examples whose HTML does not come back, by the reason why. One that does has to be struck off. All but the last stand
 * for what Markdown cannot say without tags of HTML in it, and whoever asks for Markdown does not want those.
 */
const MISSES: Misses = [
  [
    'text, links and emphasis outside of any paragraph, as a link that is not closed leaves them: Markdown makes one',
    [21, 31, 151, 162, 164, 165, 177, 178, 180, 187, 344, 476, 477, 494, 613, 614, 615, 616, 630, 631, 642, 643],
  ],
  ['`div`', [150, 152, 153, 154, 155, 159, 161, 174, 175, 184, 185, 186, 188, 189]],
  ['tables of one cell or none, which are there for layout', [148, 149, 160, 190, 191]],
  ['scripts, styles, controls of forms', [170, 171, 172, 173, 176]],
  ['elements that HTML does not have', [163, 201, 491, 524, 536, 617]],
  ['text struck out with the `~~` of GFM, which the reference implementation does not read', [166, 167, 168]],
  ['an attribute without a meaning', [169]],
  ['an image without `alt`: those of Markdown have one', [475]],
  ['a paragraph without contents', [623]],
  ['spaces on both sides of a comment', [626]],
  ['a link without contents that leads nowhere: left out, since on pages it is a mistake', [487]],
]

/** Those of them that do not come back where HTML is kept. */
const MISSES_WITH_HTML: Misses = [
  ['scripts, styles, controls of forms', [170, 171, 172, 173, 176, 178]],
  ['an attribute of what Markdown has words for', [169]],
  ['`pre` as it stands in the cell of a table: it becomes a block of code', [148]],
  ['white space at the start of a link, which is written before it', [187]],
  ['a line break in an address, which browsers remove', [642, 643]],
  ['spaces on both sides of a comment', [626]],
]

/** How the converter is asked, and how much has to come back as it was. */
interface Mode {
  readonly name: string
  readonly options: ConvertOptions
  /** Raw HTML in the Markdown does not count: readers of it may not render any. */
  readonly safe: boolean
  /** Of all examples, and of those outside the two sections on raw HTML. */
  readonly all: number
  readonly markdown: number
  readonly misses: Misses
}

const MODES: readonly Mode[] = [
  { name: 'as the proxy does', options: {}, safe: true, all: 0.9075, markdown: 0.976, misses: MISSES },
  {
    name: 'with HTML kept',
    options: { keepHtml: true },
    safe: false,
    all: 0.981,
    markdown: 0.995,
    misses: MISSES_WITH_HTML,
  },
]

const isRaw = ({ section }: Example) => section === 'HTML blocks' || section === 'Raw HTML'

const thereAndBack = ({ html }: Example, { options, safe }: Mode) => canonical(render(convert(html, options), safe))

/** How many examples come back if the converter returns its input. */
const unconverted = (safe: boolean) =>
  tests.filter(({ html }) => canonical(render(html, safe)) === canonical(html)).length

const comesBack = (example: Example, mode: Mode) => thereAndBack(example, mode) === canonical(example.html)

function share(examples: readonly Example[], mode: Mode): { passed: number; percent: string; share: number } {
  const passed = examples.filter((example) => comesBack(example, mode)).length
  return { passed, share: passed / examples.length, percent: ((100 * passed) / examples.length).toFixed(1) }
}

function casesOf(mode: Mode): Case[] {
  const markdown = tests.filter((example) => !isRaw(example))
  const known = new Set(mode.misses.flatMap(([, examples]) => examples))
  const all = share(tests, mode)
  const most = share(markdown, mode)
  console.log(`${mode.name}: a converter that returns its input scores ${unconverted(mode.safe)} of ${tests.length}`)
  console.log(`${mode.name}, all sections: ${all.passed} of ${tests.length}, ${all.percent} %`)
  console.log(`${mode.name}, without raw HTML: ${most.passed} of ${markdown.length}, ${most.percent} %`)
  return [
    { name: `${mode.name}: at least ${100 * mode.all} % of all`, expected: true, got: () => all.share >= mode.all },
    {
      name: `${mode.name}: at least ${100 * mode.markdown} % without raw HTML`,
      expected: true,
      got: () => most.share >= mode.markdown,
    },
    ...tests
      .filter(({ number }) => !known.has(number))
      .map((example): Case => ({
        name: `${mode.name}: ${example.section}, example ${example.number}`,
        expected: canonical(example.html),
        got: () => thereAndBack(example, mode),
      })),
    {
      name: `${mode.name}: no example that comes back is listed as a miss`,
      expected: [],
      got: () => tests.filter((each) => known.has(each.number) && comesBack(each, mode)).map(({ number }) => number),
    },
  ]
}

export const commonmark: Suite = {
  name: 'commonmark',
  async cases() {
    return MODES.flatMap(casesOf)
  },
}
