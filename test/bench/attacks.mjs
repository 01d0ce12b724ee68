import { sized } from './measure.mjs'

const SIZE = sized(6_000_000, 60_000)
/** Size of the inputs in megabytes. */
export const MEGABYTES = SIZE / 1e6
const filled = (text, size = SIZE) => text.repeat(Math.ceil(size / text.length)).slice(0, size)

/** Inputs of 6 MB that make careless tokenizers and converters hang, each as a thunk. */
export const ATTACKS = {
  '<b> x 1 M, then </x> x 750 k': () => filled('<b>', SIZE / 2) + filled('</x>', SIZE / 2),
  '2 M nested <b>': () => filled('<b>'),
  '<! x 3 M': () => filled('<!'),
  '< x 6 M': () => filled('<'),
  '& x 6 M': () => filled('&'),
  '&amp without ; x 1.5 M': () => filled('&amp'),
  'one attribute of 6 MB': () => `<a href="${filled('x', SIZE - 20)}">x</a>`,
  'an unclosed quote, then 6 MB': () => `<a href="${filled('<p>x')}`,
  'a data: image of 6 MB': () => `<img src="data:image/png;base64,${filled('QUJD', SIZE - 60)}">`,
  '<!-- x 1.5 M': () => filled('<!--'),
  '</ x 3 M': () => filled('</'),
  '300 k attributes on one tag': () =>
    `<a ${Array.from({ length: SIZE / 20 }, (_, i) => `attribute${i}="v"`).join(' ')}>x</a>`,
  '<script><!--<script> x 0.5 M': () => `<script>${filled('<!--<script>')}`,
  '<!-- and 6 M -': () => `<!--${filled('-')}`,
  '500 k nested <blockquote>': () => filled('<blockquote>'),
  '600 k nested <ul><li>': () => filled('<ul><li>'),
  '850 k nested <table>': () => filled('<table><tr><td>'),
  '1 M unclosed <a href>': () => filled('<a href=x>y'),
  'one row of 1.2 M cells': () => `<table><tr>${filled('<td>x')}`,
  '1 M rows': () => `<table>${filled('<tr><td>x<td>y')}`,
  'colspan and rowspan of 65534': () => `<table>${filled('<tr><td rowspan=65534 colspan=1000>x')}`,
  '6 M *': () => `<p>${filled('*')}`,
  '6 M _': () => `<p>${filled('_ ')}`,
  '6 M [': () => `<p>${filled('[')}`,
  '6 M backticks in pre': () => `<pre>${filled('`')}`,
  '6 M backticks in code': () => `<code>${filled('` ``')}`,
  '3 M <em> and </b>': () => filled('<em>x</b>'),
  'a title of 6 MB': () => `<title>${filled('x"\\\n')}`,
  '100 k JSON-LD scripts': () => filled('<script type=application/ld+json>{"a":1}</script>'),
  'nested lists and quotes, then text': () =>
    filled('<ul><li><blockquote>', SIZE / 3) + filled('text <br>', (2 * SIZE) / 3),
}
