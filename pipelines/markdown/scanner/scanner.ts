import { INPUT, MARGIN, STOP } from './layout.js'
import { MODULE } from './module.js'

/** The used part of WebAssembly, which the types of Node.js lack. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: object }
}

/** Functions of the module, see `assembly/index.ts`. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): void }
  addName(length: number, id: number, value: number): void
  narrow(length: number): void
  scan(start: number, length: number): number
  scanTag(start: number, length: number): number
  scanText(start: number, end: number): void
}

/** A name that the scanner knows, in lower case, and a number that is found with it. */
export interface ScannedName {
  readonly name: string
  readonly value: number
}

const PAGE = 65_536

/** Characters for which memory is retained between texts. */
const KEPT = 128 * 1024

/**
 * Finds the tags and texts of a piece of a page, as layout.ts describes, with a WebAssembly module that reads 16
 * characters at a time. One scanner serves all pages, because each call fills it, reads it and needs it no more.
 */
export class Scanner {
  /** Findings as numbers. Positions refer to the text. */
  table: Int32Array = new Int32Array(0)
  /** Characters of the text, with 255 for characters above 255. */
  units: Uint8Array = new Uint8Array(0)
  #bytes: Buffer = Buffer.alloc(0)
  #module = new WebAssembly.Module(Buffer.from(MODULE, 'base64'))
  #exports: Exports
  #size = 0
  readonly #elements: readonly ScannedName[]

  constructor(elements: readonly ScannedName[]) {
    this.#elements = elements
    this.#exports = this.#start()
  }

  #start(): Exports {
    this.#exports = new WebAssembly.Instance(this.#module).exports as Exports
    this.#see()
    for (const [id, { name, value }] of this.#elements.entries()) this.#addName(name, id, value)
    return this.#exports
  }

  #addName(name: string, id: number, value: number): void {
    this.#bytes.write(name, INPUT, 'latin1')
    this.#exports.addName(name.length, id, value)
  }

  #see(): void {
    const { buffer } = this.#exports.memory
    this.#size = buffer.byteLength - INPUT - MARGIN
    this.#bytes = Buffer.from(buffer)
    this.units = new Uint8Array(buffer, INPUT)
    this.table = new Int32Array(buffer, 0, INPUT / 4)
  }

  /** Reads this text from now on. With `isBytes` it has no characters above 255. */
  fill(text: string, isBytes: boolean): void {
    const { length } = text
    const size = isBytes ? length : 2 * length
    if (this.#size > 4 * KEPT && size < KEPT) this.#exports = this.#start()
    if (size > this.#size) {
      this.#exports.memory.grow(Math.ceil((size - this.#size + size / 2) / PAGE))
      this.#see()
    }
    if (isBytes) this.#bytes.write(text, INPUT, 'latin1')
    else {
      this.#bytes.write(text, INPUT, 'utf16le')
      this.#exports.narrow(length)
    }
    this.units[length] = 0
  }

  scan(start: number, length: number): number {
    return this.#exports.scan(start, length)
  }

  scanText(start: number, end: number): void {
    this.#exports.scanText(start, end)
  }

  scanTag(start: number, length: number): number {
    return this.#exports.scanTag(start, length)
  }

  get stop(): number {
    return this.table[STOP / 4] as number
  }

  get stopAt(): number {
    return this.table[STOP / 4 + 1] as number
  }

  get stopLess(): number {
    return this.table[STOP / 4 + 2] as number
  }
}
