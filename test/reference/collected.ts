/** All values of a stream, in order. */
export async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of stream) all.push(value);
  return all;
}
