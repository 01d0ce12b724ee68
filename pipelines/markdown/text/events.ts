/**
 * Interface of every parser of a page, similar to sax. The HTML tokenizer, and the XML parser for XHTML implement it.
 *
 * A parser reports tags as they are in the text. It adds no end tags that an author left out and drops no unmatched
 * ones. The receiver interprets an end tag.
 */

/** An open tag, valid only during the `open` call that receives it, because the same object is used for every tag. */
export interface Tag {
  /** In lower case. Names of HTML elements are always the same string object, so lookups by name are fast. */
  readonly name: string
  /** Position of the element in the table of names, `KNOWN_NAMES` if it is not in the table. */
  readonly id: number
  /** The `attributeBit` of each attribute, and perhaps others. An attribute whose bit is not set is absent. */
  readonly attributeBits: number
  /** Written as `<name/>`. HTML gives this a meaning only inside `svg` and `math`. */
  readonly selfClosing: boolean
  /** Returns the decoded value of an attribute (name in lower case), '' for one without a value. Decoded on use. */
  attribute(name: string): string | undefined
  /** Returns whether the undecoded value of an attribute begins with `start`. Faster than reading the value. */
  attributeStarts(name: string, start: string): boolean
  /** Returns whether the undecoded value of an attribute contains `text` (in lower case), in any case. */
  attributeIncludes(name: string, text: string): boolean
  /** Returns the first character of the undecoded value of an attribute, 0 without one. */
  attributeFirst(name: string): number
  /**
   * Passes the undecoded value of an attribute to `read`, as code units between two positions without a copy, and
   * returns its result. 0 if the tag does not have the attribute, -1 if only `attribute` can return it.
   */
  attributeUnits(name: string, read: (units: Uint8Array, start: number, end: number) => number): number
  /** The last result of `attribute` is printable ASCII that needs no escapes as an address. */
  readonly valueIsPlain: boolean
  /** The last result of `attribute` needs no escapes as a title. */
  readonly valueIsTitle: boolean
  /** Returns all attributes, in order, decoded. The first of several with one name counts. */
  attributes(): Map<string, string>
}

/**
 * Returned by `open` for an element whose contents are not wanted. Nothing inside it is reported, including its own end
 * tag, and its text is neither copied nor decoded. Script elements inside are an exception. They are still passed to
 * `open`, and if one is not skipped, its text and end tag are reported.
 *
 * The element ends as in a browser, at its own end tag, or at the end tag of an element around it, which is then
 * reported as usual. Elements that have no contents (`img`) end immediately.
 */
export type Skip = 'skip'

/** Events of a page, in order. */
export interface Events {
  open(tag: Tag): Skip | void
  /**
   * Reports the end tag of an element, by its name and its position in the table of names. With `isStray` no such
   * element is open, so browsers ignore the tag, or read it as an element without contents (`</p>`, `</br>`).
   */
  close(name: string, id: number, isStray?: boolean): void
  /**
   * A piece of text, decoded, and its traits (text-traits.ts). One run of text may arrive in several pieces, cut
   * anywhere except inside a character.
   */
  text(text: string, traits: number): void
  /**
   * Whether white space in texts may be collapsed to one space. White space around a piece may then be omitted, which
   * its traits SPACE_BEFORE and SPACE_AFTER report.
   */
  readonly collapses?: boolean
  comment?(text: string): void
  /** Receives the doctype, `null` for missing parts. */
  doctype?(name: string | null, publicId: string | null, systemId: string | null, quirks: boolean): void
}

/** Reads a page in pieces of any size and reports its events as soon as they are certain. */
export interface Tokenizer {
  /** Reads text. With `isUtf8` each character of the text is a byte of UTF-8, for a tokenizer that decodes it. */
  write(text: string, isUtf8?: boolean): void
  /** Reports the remaining events. No write is allowed afterwards. */
  end(): void
}
