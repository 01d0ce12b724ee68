import { RegexSyntaxError } from './syntax-error.js'

/** The flags that apply at a position of a pattern. */
export interface Flags {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
  readonly R: boolean
  readonly U: boolean
  readonly u: boolean
  readonly x: boolean
}

/** The characters (code points) of a pattern and a position among them. */
export class Cursor {
  readonly chars: readonly string[]
  at = 0

  constructor(pattern: string) {
    this.chars = Array.from(pattern)
  }

  get done(): boolean {
    return this.at >= this.chars.length
  }

  peek(ahead = 0): string | undefined {
    return this.chars[this.at + ahead]
  }

  take(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.chars[this.at + i] !== text[i]) return false
    this.at += text.length
    return true
  }

  next(what: string): string {
    const char = this.chars[this.at]
    if (char === undefined) throw this.issue(what)
    this.at++
    return char
  }

  issue(reason: string, at = this.at): RegexSyntaxError {
    return new RegexSyntaxError(reason, Buffer.byteLength(this.chars.slice(0, at).join('')))
  }

  /** Skips white space and comments if the flag `x` is set. */
  skipIgnored(flags: Flags): void {
    while (flags.x && !this.done) {
      const char = this.peek() as string
      if (/\s/u.test(char)) this.at++
      else if (char === '#') while (!this.done && this.peek() !== '\n') this.at++
      else return
    }
  }
}
