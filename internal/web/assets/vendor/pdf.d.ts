export function getDocument(source: any): { promise: Promise<any>, destroy(): Promise<void> };
export class PDFWorker { constructor(options: { port: Worker }); }
