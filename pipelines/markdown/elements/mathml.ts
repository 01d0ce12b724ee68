/** Maximum number of elements of a formula. The contents of further ones are read as text. */
const MAX_ELEMENTS = 4096
const MAX_DEPTH = 64

interface MathElement {
  readonly name: string
  /** Fences around the parts of `mfenced`. */
  readonly fences?: readonly [open: string, close: string] | undefined
  readonly parts: (MathElement | string)[]
}

/** Names of elements whose parts have a meaning by position. All others are read as a row of their parts. */
export const MATH_ELEMENTS = (
  'mrow mi mn mo mtext ms mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mfenced mstyle ' +
  'mpadded mphantom menclose semantics mmultiscripts mprescripts none'
).split(' ')

/** Reads the elements of a formula in MathML and returns it in TeX. MathML Core, 3. */
export class MathReader {
  readonly #root: MathElement = { name: 'mrow', parts: [] }
  #open: MathElement[] = [this.#root]
  #count = 0
  #tooDeep = 0

  open(name: string, fences?: MathElement['fences']): void {
    if (this.#open.length >= MAX_DEPTH || this.#count >= MAX_ELEMENTS) {
      this.#tooDeep++
      return
    }
    this.#count++
    const element: MathElement = { name, fences, parts: [] }
    this.#top.parts.push(element)
    this.#open.push(element)
  }

  close(name: string): void {
    if (this.#tooDeep > 0) {
      this.#tooDeep--
      return
    }
    const at = this.#open.findLastIndex((element) => element.name === name)
    if (at > 0) this.#open.length = at
  }

  text(text: string): void {
    const { parts } = this.#top
    const last = parts.at(-1)
    if (typeof last === 'string') parts[parts.length - 1] = last + text
    else parts.push(text)
  }

  get #top(): MathElement {
    return this.#open.at(-1) as MathElement
  }

  /** Returns the formula, '' without contents. */
  toString(): string {
    return texOf(this.#root)
      .replace(/ (?=[ ,;)\]}])|(?<=[({[]) /g, '')
      .trim()
  }
}

/** Returns one part, in braces unless it is one character. */
function group(part: MathElement | string | undefined): string {
  const tex = part === undefined ? '' : texOf(part).trim()
  return /^[^\\{}\s]$/u.test(tex) ? tex : `{${tex}}`
}

const braces = (part: MathElement | string | undefined): string => `{${part === undefined ? '' : texOf(part).trim()}}`

function texOf(part: MathElement | string): string {
  if (typeof part === 'string') return symbols(part)
  const { name } = part
  if (name === 'mtext' || name === 'ms') return textOf(part)
  if (name === 'mi' || name === 'mo' || name === 'mn') return leaf(part)
  const parts = part.parts.filter((each) => typeof each !== 'string' || each.trim() !== '')
  const [first, second, third] = parts
  switch (name) {
    case 'mfrac':
      return `\\frac${braces(first)}${braces(second)}`
    case 'msqrt':
      return `\\sqrt{${row(parts)}}`
    case 'mroot':
      return `\\sqrt[${second === undefined ? '' : texOf(second).trim()}]${braces(first)}`
    case 'msub':
    case 'munder':
      return first === undefined ? '' : `${base(first)}_${group(second)}`
    case 'msup':
      return first === undefined ? '' : `${base(first)}^${group(second)}`
    case 'mover':
      return first === undefined ? '' : over(first, second)
    case 'msubsup':
    case 'munderover':
      return first === undefined ? '' : `${base(first)}_${group(second)}^${group(third)}`
    case 'mtable':
      return `\\begin{matrix} ${parts.map(texOf).join(' \\\\ ')} \\end{matrix}`
    case 'mtr':
      return parts.map((each) => texOf(each).trim()).join(' & ')
    case 'mfenced':
      return fenced(part.fences, parts.map((each) => texOf(each).trim()).join(', '))
    case 'mmultiscripts':
      return scripted(parts)
    case 'mprescripts':
    case 'none':
      return ''
    case 'mphantom':
      return ''
    default:
      return row(parts)
  }
}

function fenced(fences: MathElement['fences'] = ['(', ')'], contents: string): string {
  const [open, close] = fences.map((fence) => (/^[([{|<\])}>]?$/.test(fence) ? symbols(fence) || '.' : '|'))
  return `\\left${open}${contents}\\right${close}`
}

/**
 * Returns a base with scripts. Pairs of lower and upper scripts follow the base. After `mprescripts` follow the pairs
 * before it.
 */
function scripted([first, ...others]: readonly (MathElement | string)[]): string {
  const split = others.findIndex((part) => typeof part !== 'string' && part.name === 'mprescripts')
  const before = split < 0 ? '' : scripts(others.slice(split + 1))
  const after = scripts(split < 0 ? others : others.slice(0, split))
  return `${before === '' ? '' : `{}${before}`}${first === undefined ? '' : base(first)}${after}`
}

function scripts(parts: readonly (MathElement | string)[]): string {
  const written = parts.map((part, at) => {
    const tex = group(part)
    return tex === '{}' ? '' : `${at % 2 === 0 ? '_' : '^'}${tex}`
  })
  return written.reduce(
    (all, tex, at) => all + (at > 1 && at % 2 === 0 && tex + (written[at + 1] ?? '') !== '' ? '{}' : '') + tex,
    '',
  )
}

const row = (parts: readonly (MathElement | string)[]): string => parts.map(texOf).join('').trim()

/** Returns the base of an index. Only a single symbol needs no braces. */
function base(part: MathElement | string): string {
  const tex = group(part)
  return tex === '{}' || !/^{(?:\\[a-z]+|[\d.]+)}$/.test(tex) ? tex : tex.slice(1, -1)
}

const ACCENTS: Readonly<Record<string, string>> = {
  '^': 'hat',
  '\u02c6': 'hat',
  '~': 'tilde',
  '\u02dc': 'tilde',
  '\u00af': 'bar',
  '\u203e': 'overline',
  _: 'overline',
  '\u2192': 'vec',
  '\u02d9': 'dot',
  '\u00a8': 'ddot',
}

function over(first: MathElement | string, second: MathElement | string | undefined): string {
  const mark = typeof second === 'object' ? flat(second).trim() : ''
  const accent = Object.hasOwn(ACCENTS, mark) ? ACCENTS[mark] : undefined
  return accent === undefined ? `${base(first)}^${group(second)}` : `\\${accent}${braces(first)}`
}

const flat = (part: MathElement | string): string => (typeof part === 'string' ? part : part.parts.map(flat).join(''))

function textOf(part: MathElement): string {
  const text = flat(part).replace(/\s+/g, ' ')
  return text.trim() === '' ? ' ' : `\\text{${text.replace(/[{}\\$#%&_^~]/g, '')}}`
}

const FUNCTIONS = new Set(
  (
    'arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim ln log max min Pr sec sin ' +
    'sinh sup tan tanh'
  ).split(' '),
)

function leaf(part: MathElement): string {
  const text = flat(part).trim()
  if (part.name === 'mo') return operator(text)
  if (part.name === 'mi' && FUNCTIONS.has(text)) return `\\${text} `
  return part.name === 'mi' && /^[A-Za-z]{2,}$/.test(text) ? `\\mathrm{${text}}` : symbols(text)
}

/** Operators that are separated from both operands. */
const RELATION = /^(?:[=<>+*:≠≤≥≈≡∼≅⊂⊃⊆⊇∈∉→←↔⇒⇐⇔↦×·÷±∓∪∩∧∨−-])$/u

function operator(text: string): string {
  const tex = symbols(text)
  return RELATION.test(text) ? ` ${tex.trim()} ` : tex
}

const SYMBOLS: ReadonlyMap<string, string> = new Map(
  (
    'α alpha β beta γ gamma δ delta ε varepsilon ϵ epsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa λ lambda μ mu ' +
    'ν nu ξ xi π pi ρ rho σ sigma ς varsigma τ tau υ upsilon φ varphi ϕ phi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta ' +
    'Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ∑ sum ∏ prod ∫ int ∬ iint ∮ oint ∂ partial ∇ nabla ∞ infty ' +
    '× times · cdot ⋅ cdot ÷ div ± pm ∓ mp ≠ neq ≤ le ≥ ge ≈ approx ≡ equiv ∼ sim ≅ cong ∝ propto ∈ in ∉ notin ∋ ni ' +
    '⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ∪ cup ∩ cap ∅ emptyset ∀ forall ∃ exists ¬ neg ∧ land ∨ lor → to ← leftarrow ' +
    '↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto ∘ circ ⊕ oplus ⊗ otimes ⊥ perp ∥ parallel ' +
    '∠ angle ⟨ langle ⟩ rangle ⌊ lfloor ⌋ rfloor ⌈ lceil ⌉ rceil … ldots ⋯ cdots ⋮ vdots ⋱ ddots ℓ ell ℏ hbar ℵ aleph ' +
    '′ prime ‖ Vert ⋆ star † dagger ℜ Re ℑ Im'
  )
    .split(' ')
    .reduce<[string, string][]>(
      (pairs, word, at, all) => (at % 2 === 0 ? [...pairs, [word, all[at + 1] ?? '']] : pairs),
      [],
    ),
)

/** Returns text with TeX commands for symbols and with TeX markup escaped. */
function symbols(text: string): string {
  let tex = ''
  for (const char of text) {
    const command = SYMBOLS.get(char)
    if (command !== undefined) tex += `\\${command} `
    else if (char === '\u2212') tex += '-'
    else if (/[\u2061-\u2064\u200b]/.test(char)) continue
    else if (/[{}#$%&_]/.test(char)) tex += `\\${char}`
    else if (char === '\\') tex += '\\backslash '
    else tex += /\s/.test(char) ? ' ' : char
  }
  return tex
}

/** Maximum characters of MathML in an attribute. */
const MAX_MATHML = 65_536

/** Returns the TeX of MathML that an attribute has as text. */
export function texOfMathml(mathml: string): string {
  const reader = new MathReader()
  for (const [, end, name, text] of mathml.slice(0, MAX_MATHML).matchAll(/<(\/?)([a-z]+)[^>]*>|([^<]+)/g)) {
    if (text !== undefined) reader.text(decodeText(text))
    else if (name !== 'math' && name !== undefined && MATH_NAMES.has(name)) {
      if (end === '') reader.open(name, undefined)
      else reader.close(name)
    }
  }
  return reader.toString()
}

const MATH_NAMES: ReadonlySet<string> = new Set(MATH_ELEMENTS)

const decodeText = (text: string): string =>
  text.replace(/&(?:#x([\da-f]{1,6})|lt|gt|amp|nbsp);/gi, (all, hex: string | undefined) =>
    hex === undefined
      ? (REFERENCES[all.toLowerCase()] ?? ' ')
      : String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff)),
  )

const REFERENCES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }
