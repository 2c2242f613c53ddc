export function getDocument(source: any): { promise: Promise<any>, destroy(): Promise<void> };
