export function minified(code: string, path: string, isModule?: boolean): string;
