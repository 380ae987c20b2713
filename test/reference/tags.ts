/** Options of a test of a table, of which few cases stand for the others in `npm test`. */
export const quickIf = (isQuick: boolean) => (isQuick ? {} : { tags: 'thorough' as const });
