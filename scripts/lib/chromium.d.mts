// Types of chromium.mjs, for tests.

export const executablePath: string;
export const args: readonly string[];
