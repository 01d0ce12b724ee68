/** A line of a `_redirects` or `_headers` file that is left out. */
export interface Warning {
  /** From 1. */
  readonly line: number
  readonly message: string
}

/** Longer lines are left out. */
const MAX_CHARACTERS = 2000
/**
 * Comments and empty lines count too. Far more than a site can have rules. Reading millions of invalid lines takes
 * seconds.
 */
const MAX_LINES = 20_000

/**
 * Returns the trimmed lines of a file without empty lines and comments. Lines that are too long or beyond the limit are
 * skipped with a warning.
 */
export function* lines(text: string, warnings: Warnings): Generator<{ line: number; text: string }> {
  let line = 0
  for (const whole of text.split(/\r\n|\r|\n/, MAX_LINES + 1)) {
    line += 1
    if (line > MAX_LINES) {
      warnings.add(line, `more than ${MAX_LINES} lines: this line and all after it are left out`)
      return
    }
    const trimmed = whole.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    if (trimmed.length > MAX_CHARACTERS)
      warnings.add(line, `the line is longer than ${MAX_CHARACTERS} characters and is left out`)
    else yield { line, text: trimmed }
  }
}

/** Maximum number of reported lines. */
const MAX_WARNINGS = 100

/** The first hundred warnings, in order. */
export class Warnings {
  readonly list: Warning[] = []

  add(line: number, message: string): void {
    if (this.list.length < MAX_WARNINGS) this.list.push({ line, message })
  }
}

const ANY_HOST = 'https://site.invalid'

/** Returns a path as in a request line (percent-encoded, no `..`, no query). Undefined if the text is not a path. */
export function encodedPath(text: string): string | undefined {
  if (!text.startsWith('/') || text.startsWith('//') || !URL.canParse(text, ANY_HOST)) return undefined
  const url = new URL(text, ANY_HOST)
  return url.origin === ANY_HOST ? url.pathname : undefined
}

/** Query and fragment of a path, as written in a URL. */
export function tailOf(text: string): string {
  const { search, hash } = new URL(text, ANY_HOST)
  return search + hash
}
