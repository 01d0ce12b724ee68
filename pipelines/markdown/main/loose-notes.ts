import { lengthOf } from '../text/characters.js'
import { NOTES_TITLE } from '../elements/footnotes.js'
import { frame, type Frame } from '../output/frame.js'
import { BLOCK_LINKS, BLOCK_TEXT, LEVEL, PLACE, type Blocks } from './blocks.js'
import { WITHIN, type Containers } from './containers.js'
import { WIDTH } from './rows.js'
import { IS_ASIDE } from './traits.js'

/** Maximum Markdown of a block that is searched for marks, and maximum number of notes. */
const MAX_SEARCHED = 16 * 1024
const MAX_NOTES = 300

/** A number above the line. */
const MARK = /<sup>(\d{1,3})<\/sup>/g

/** Text before a number that is not the mark of a note: a power, a unit or an ordinal. */
const NOT_MARKED = /(?:^|\s|[\d=+*/^({[<>-]|(?:^|[^\p{L}])(?:\p{L}|[kcdmµn]m|mi|ft|in|yd|sq))$/u

/** Number at the start of a block that is a note, anywhere and below a rule or a title such as "Notes". */
const NOTE = /^<sup>(\d{1,3})<\/sup>[.):\]]?\s*(?=\S)/
const NUMBERED =
  /^(?:<sup>(\d{1,3})<\/sup>|\*\*(\d{1,3})[.):]?\*\*|(\d{1,3})\\?[.)]|\\?\[(\d{1,3})\\?\])[.):]?\s+(?=\S)/

/** How a block becomes part of a note. */
interface Start {
  readonly number: number
  /** Markdown without the number. */
  readonly markdown: string
  /** The item of a list that is the note, or undefined for a paragraph. */
  readonly item: Frame | undefined
}

/**
 * Makes footnotes of notes that no link connects with their marks: numbers above the line, and later blocks that begin with
 * these numbers in the same order, from 1 on. All marks and notes have to be buffered. Returns the rows of titles and rules of such
 * notes, which are dropped, or undefined without any notes.
 */
export function joinLooseNotes(blocks: Blocks, containers: Containers): number[] | undefined {
  const { values, end } = blocks.rows
  const marked = markedNumbers(blocks)
  if (marked.size === 0) return undefined
  const dropped: number[] = []
  /** The title or the rule of the open section, and whether nothing but notes is below it. */
  let section = -1
  let found = 0
  let note: Frame | undefined
  let noteRow = -1
  for (let row = 0; row < end && found < MAX_NOTES; row += WIDTH) {
    const level = values[row + LEVEL] as number
    if (level > 0 || blocks.kindOf(row) === 'rule') {
      section = level === 0 || NOTES_TITLE.test(blocks.titleOf(row)) ? row : -1
      continue
    }
    const start = startOf(blocks, row, section >= 0, () => isBeside(blocks, row, containers))
    if (start === undefined || start.number !== found + 1 || !((marked.get(start.number) ?? row) < row)) continue
    if (note !== undefined && section >= 0 && section < noteRow) addBlocks(blocks, noteRow + WIDTH, row, note)
    if (section >= 0 && section > noteRow) dropped.push(section)
    found++
    noteRow = row
    note = begin(blocks, row, start)
  }
  if (found === 0) return undefined
  writeMarks(blocks, found)
  return dropped
}

/** Returns the numbers that marks have, with the row of the first mark of each. */
function markedNumbers(blocks: Blocks): Map<number, number> {
  const marked = new Map<number, number>()
  for (let row = 0; row < blocks.rows.end; row += WIDTH) {
    const markdown = blocks.markdownOf(row)
    if (!mayHaveMarks(blocks, row, markdown)) continue
    for (const { 1: digits, index } of markdown.matchAll(MARK)) {
      const number = Number(digits)
      if (number > 0 && !marked.has(number) && isMark(markdown, index)) marked.set(number, row)
    }
  }
  return marked
}

const mayHaveMarks = (blocks: Blocks, row: number, markdown: string): boolean =>
  blocks.kindOf(row) !== 'fence' && lengthOf(markdown) <= MAX_SEARCHED && markdown.includes('<sup>')

/** Returns whether a number above the line is the mark of a note, by the text before it. */
const isMark = (markdown: string, at: number): boolean => !NOT_MARKED.test(markdown.slice(Math.max(0, at - 8), at))

/** Returns what makes a block the first of a note. */
function startOf(blocks: Blocks, row: number, inSection: boolean, inAside: () => boolean): Start | undefined {
  const frames = blocks.frames[row / WIDTH] as Frame[]
  const markdown = blocks.markdownOf(row)
  if (frames.length === 1) {
    if (blocks.kindOf(row) !== 'paragraph' && blocks.kindOf(row) !== 'text') return undefined
    const parts = (inSection ? NUMBERED : NOTE).exec(markdown)
    if (parts === null) return undefined
    const [all, ...digits] = parts
    return { number: Number(digits.find(Boolean)), markdown: markdown.slice(all.length), item: undefined }
  }
  const item = frames.at(-1)
  if (frames.length !== 3 || item?.type !== 'item' || item.head !== '' || frames[1]?.ordered !== true) return undefined
  return inSection || inAside() ? { number: item.number, markdown, item } : undefined
}

/** Returns whether a block is text beside the content, and not a link to another page. */
function isBeside({ rows: { values } }: Blocks, row: number, containers: Containers): boolean {
  const within = containers.rows.values[(values[row + PLACE] as number) + WITHIN] as number
  return (within & IS_ASIDE) !== 0 && 2 * (values[row + BLOCK_LINKS] as number) < (values[row + BLOCK_TEXT] as number)
}

/** Makes a note of a block. Returns the frame of the note. */
function begin(blocks: Blocks, row: number, { number, markdown, item }: Start): Frame {
  const at = row / WIDTH
  const note = item ?? frame('item')
  note.head = `[^${number}]: `
  blocks.contents[at] = markdown
  if (item === undefined) blocks.frames[at] = [...(blocks.frames[at] as Frame[]), frame('list', false, 1, true), note]
  return note
}

/** Makes further blocks of a note of the blocks up to the next note. */
function addBlocks(blocks: Blocks, from: number, to: number, note: Frame): void {
  const around = blocks.frames[from / WIDTH - 1] as Frame[]
  for (let at = from / WIDTH; at < to / WIDTH; at++) {
    const frames = blocks.frames[at] as Frame[]
    if (!frames.includes(note)) blocks.frames[at] = [...around, ...frames.slice(1)]
  }
}

/** Writes the marks of the notes from 1 to `last`. */
function writeMarks(blocks: Blocks, last: number): void {
  for (let row = 0; row < blocks.rows.end; row += WIDTH) {
    const at = row / WIDTH
    const markdown = blocks.contents[at] as string
    if (mayHaveMarks(blocks, row, markdown))
      blocks.contents[at] = markdown.replace(MARK, (mark, digits: string, index: number) =>
        Number(digits) <= last && isMark(markdown, index) ? `[^${Number(digits)}]` : mark,
      )
  }
}
