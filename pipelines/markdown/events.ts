/**
 * The face that every reader of a page has, in the manner of sax: the HTML tokenizer, and the XML parser for XHTML.
 *
 * A reader reports tags as they stand in the text. It adds no end tags that an author left out and drops none that
 * match nothing: what an end tag means is for the receiver to decide.
 */

/** An open tag, valid only during the `open` call that hands it over: the same object is used for every tag. */
export interface Tag {
  /** In lower case. Names of HTML elements are always the same string object, so lookups by name are cheap. */
  readonly name: string
  /** The element's place in the table of names, `KNOWN_NAMES` for one that is not in it. */
  readonly id: number
  /** The `attributeBit` of each attribute, and perhaps others: an attribute whose bit is not set is not there. */
  readonly attributeBits: number
  /** Written as `<name/>`. HTML gives that a meaning only inside `svg` and `math`. */
  readonly selfClosing: boolean
  /** The decoded value of an attribute (its name in lower case), '' for one without a value. Decoded when asked. */
  attribute(name: string): string | undefined
  /** Whether the text of an attribute's value, not decoded, begins with `start`. Costs less than the value. */
  attributeStarts(name: string, start: string): boolean
  /** The value that `attribute` gave last is printable ASCII without any of `<>()\\&`: no address of it needs escapes. */
  readonly valueIsPlain: boolean
  /** Every attribute, in order, decoded. The first of several with one name counts. */
  attributes(): Map<string, string>
}

/**
 * What `open` answers for an element whose contents are not wanted. Nothing inside it is reported, its own end tag
 * included, and no text of it is copied or decoded. One exception: script elements inside are still announced by
 * `open`, and one that is not skipped in turn has its text and its end tag reported.
 *
 * The element ends where a browser would end it: at its own end tag, or at the end tag of an element around it,
 * which is then reported as usual. Elements that have no contents (`img`) end at once.
 */
export type Skip = 'skip'

/** What happens in a page, in order. */
export interface Events {
  open(tag: Tag): Skip | void
  /**
   * The end tag of an element, by its name and its place in the table of names. `isStray`: no such element is open, so
   * that browsers ignore the tag, or read it as an element without contents (`</p>`, `</br>`).
   */
  close(name: string, id: number, isStray?: boolean): void
  /**
   * A piece of text, decoded, and its traits (text-traits.ts). One run of text may arrive in several pieces, cut
   * anywhere but inside a character.
   */
  text(text: string, traits: number): void
  /**
   * Whether white space in texts may be collapsed: one space stands for any of it, and that around a piece may be left
   * out, which its traits SPACE_BEFORE and SPACE_AFTER tell.
   */
  readonly collapses?: boolean
  comment?(text: string): void
  /** `null` for what the doctype does not say. */
  doctype?(name: string | null, publicId: string | null, systemId: string | null, quirks: boolean): void
}

/** Reads a page handed over in pieces of any size and reports its events as soon as they are certain. */
export interface Tokenizer {
  write(text: string): void
  /** Reports what is left. Nothing may be written after it. */
  end(): void
}
