// Exports: Content, ConvertOptions, Converter, MAX_HTML_BYTES, MarkdownTransform, NotConvertible, PageTooLarge, convert

// Content: pipelines/markdown/convert.ts
export type Content = 'page' | 'main';

// ConvertOptions: pipelines/markdown/convert.ts
export interface ConvertOptions {
    contentType?: string | undefined;
    keepHtml?: boolean | undefined;
    content?: Content | undefined;
    links?: boolean | 'numbered' | undefined;
    base?: string | undefined;
    notice?: string | undefined;
    footnotes?: boolean | undefined;
    callouts?: boolean | undefined;
    math?: boolean | undefined;
}

// Converter: pipelines/markdown/convert.ts
export declare class Converter {
    #private;
    constructor(options?: ConvertOptions);
    write(bytes: Uint8Array): string;
    end(): string;
    convert(html: string): string;
}

// MAX_HTML_BYTES: pipelines/markdown/convert.ts
export declare const MAX_HTML_BYTES = 6291456;

// MarkdownTransform: pipelines/markdown/transform.ts
export declare class MarkdownTransform extends Transform {
    #private;
    constructor(options?: ConvertOptions);
    _transform(chunk: Buffer | string, encoding: BufferEncoding, done: TransformCallback): void;
    _flush(done: TransformCallback): void;
}

// NotConvertible: pipelines/markdown/text/not-convertible.ts
export declare class NotConvertible extends Error {
    readonly name = "NotConvertible";
}

// PageTooLarge: pipelines/markdown/convert.ts
export declare class PageTooLarge extends Error {
    readonly name = "PageTooLarge";
    constructor();
}

// convert: pipelines/markdown/convert.ts
export declare function convert(html: string | Uint8Array, options?: ConvertOptions): string;
