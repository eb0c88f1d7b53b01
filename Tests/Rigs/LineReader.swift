/// An actor that reads lines, one at a time.
package actor LineReader {
  private var iterator: AsyncStream<String>.Iterator

  package init(_ lines: AsyncStream<String>) {
    iterator = lines.makeAsyncIterator()
  }

  /// Returns the next line, or an empty string when there are no more lines.
  package func next() async -> String {
    var iterator = iterator
    let line = await iterator.next(isolation: #isolation)
    self.iterator = iterator
    return line ?? ""
  }
}
