/** Endings of paths that are cached by default, as the public service has them. */
const STATIC = new Set(
  (
    '7z apk avi avif bin bmp bz2 class css csv dmg doc docx ejs eot eps exe flac gif gz ico iso jar jpeg jpg js mid ' +
    'midi mkv mp3 mp4 ogg otf pdf pict pls png ppt pptx ps rar svg svgz swf tar tif tiff ttf webm webp woff woff2 xls ' +
    'xlsx zip zst'
  ).split(' '),
)

const MAX_ENDING = 5

/** Returns the ending of the last path segment in lower case, or undefined without one. */
function endingOf(target: string): string | undefined {
  const query = target.indexOf('?')
  const end = query < 0 ? target.length : query
  const dot = target.lastIndexOf('.', end - 1)
  if (dot < 0 || end - dot - 1 > MAX_ENDING || end - dot < 2) return undefined
  const ending = target.slice(dot + 1, end)
  return ending.includes('/') ? undefined : ending.toLowerCase()
}

/** Returns whether the target is a static file by its ending, or `/robots.txt`. */
export function isStatic(target: string): boolean {
  const ending = endingOf(target)
  return ending !== undefined && (STATIC.has(ending) || (ending === 'txt' && /^\/robots\.txt(?:\?|$)/.test(target)))
}

/** Main media type of endings, for the check that a response is what its URL says. */
const TYPES: Readonly<Record<string, RegExp>> = {
  css: /^text\/css$/,
  csv: /^text\/(?:csv|plain)$|^application\/(?:csv|vnd\.ms-excel)$/,
  ejs: /^(?:text|application)\//,
  eps: /^image\/|^application\/(?:eps|postscript)$/,
  js: /^(?:text|application)\/(?:x-)?(?:java|ecma)script$/,
  pdf: /^application\/pdf$/,
  svg: /^image\//,
  svgz: /^image\//,
  swf: /^application\/x-shockwave-flash$/,
  gif: /^(?:image|video)\//,
}
const FAMILIES: readonly (readonly [type: RegExp, endings: string])[] = [
  [/^image\//, 'avif bmp ico jpeg jpg pict png tif tiff webp'],
  [
    /^(?:audio|video)\/|^application\/(?:ogg|x-mpegurl|vnd\.apple\.mpegurl)$/,
    'avi flac mid midi mkv mp3 mp4 ogg pls webm',
  ],
  [/^font\/|^application\/(?:x-)?font|^application\/vnd\.ms-(?:fontobject|opentype)$/, 'eot otf ttf woff woff2'],
  [/^application\//, '7z apk bin bz2 class dmg doc docx exe gz iso jar ppt pptx ps rar tar xls xlsx zip zst'],
]
const BY_ENDING: ReadonlyMap<string, RegExp> = new Map([
  ...FAMILIES.flatMap(([type, endings]) => endings.split(' ').map((ending) => [ending, type] as const)),
  ...Object.entries(TYPES),
])

/** Types of pages and of data for one user. No ending of the table means such a type, even if the main type agrees. */
const PAGE = /^text\/(?:html|xml)$|^application\/(?:.+\+)?(?:json|xml)$/

/** Returns whether the media type of a response disagrees with the ending of its path. */
export function disagrees(target: string, contentType: string | undefined): boolean {
  const expected = BY_ENDING.get(endingOf(target) ?? '')
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase()
  if (expected === undefined || type === '' || type === 'application/octet-stream') return false
  return PAGE.test(type) || !expected.test(type)
}
