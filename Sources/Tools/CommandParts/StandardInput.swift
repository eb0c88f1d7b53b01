import Dispatch
import Glibc
import HoldfastOwnerFiles

/// A sequence that reads standard input only when an element is requested. The remaining input
/// stays in the pipe.
///
/// The size of an element is limited, so memory use is limited too.
package struct StandardInput<Element: Sendable>: AsyncSequence {
  private let asked = DispatchSemaphore(value: 0)
  private let given: AsyncStream<Element>

  /// - Parameter source: An iterator that blocks until there is input. It is called once for each
  ///   requested element.
  package init(_ source: some IteratorProtocol<Element> & Sendable) {
    let (given, continuation) = AsyncStream.makeStream(of: Element.self)
    self.given = given
    // A separate queue is used because a read may block forever. Nothing waits for the end of the
    // read.
    DispatchQueue(label: "holdfast.command.input").async { [asked] in
      var source = source
      while true {
        asked.wait()
        guard let element = source.next() else { return continuation.finish() }
        continuation.yield(element)
      }
    }
  }

  package func makeAsyncIterator() -> Iterator {
    Iterator(asked: asked, given: given.makeAsyncIterator())
  }

  package struct Iterator: AsyncIteratorProtocol {
    fileprivate let asked: DispatchSemaphore
    fileprivate var given: AsyncStream<Element>.Iterator

    package mutating func next() async -> Element? { await next(isolation: nil) }

    package mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      asked.signal()
      return await given.next(isolation: actor)
    }
  }
}

/// A line of standard input.
package struct InputLine: Sendable {
  /// The line's number, counted from 1.
  package var number: Int
  /// The line's length in bytes, without the line break.
  package var bytes: Int
  /// The text of the line. It is empty if the line is too long, and `nil` if it is not UTF-8.
  package var text: String?
}

/// An iterator over the lines of standard input. The last line may lack a line break.
package struct InputLines: IteratorProtocol, Sendable {
  /// The maximum length of a line, in bytes. The text of a longer line is dropped.
  package let longest: Int
  private var keys = InputKeys()
  private var piece: ArraySlice<UInt8> = []
  private var number = 0

  package init(longest: Int) {
    self.longest = longest
  }

  package mutating func next() -> InputLine? {
    var buffer: [UInt8] = []
    var bytes = 0
    var isWhole = false
    var wasReturn = false
    while !isWhole {
      if piece.isEmpty {
        guard let next = keys.next() else { break }
        piece = next
      }
      let end = piece.firstIndex(of: UInt8(ascii: "\n"))
      let part = piece[..<(end ?? piece.endIndex)]
      bytes += part.count
      wasReturn = part.last.map { $0 == UInt8(ascii: "\r") } ?? wasReturn
      buffer = bytes > longest + 1 ? [] : buffer + part
      piece = end.map { piece[($0 + 1)...] } ?? []
      isWhole = end != nil
    }
    guard isWhole || bytes > 0 else { return nil }
    number += 1
    // Some systems and protocols end lines with CR and LF.
    if isWhole, bytes > 0, wasReturn { bytes -= 1 }
    if buffer.count > bytes { buffer.removeLast() }
    return InputLine(number: number, bytes: bytes, text: String(validating: buffer, as: UTF8.self))
  }
}

/// An iterator over the available bytes of standard input. It ends when the input ends or an error
/// occurs.
struct InputKeys: IteratorProtocol, Sendable {
  mutating func next() -> ArraySlice<UInt8>? {
    var piece = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe SystemCall.read(STDIN_FILENO, &piece, piece.count)
      if count > 0 { return piece[..<count] }
      guard count < 0, errno == EAGAIN else { return nil }
      // Another process that shares the terminal or the pipe has made it nonblocking.
      SystemCall.wait(for: Int32(POLLIN), on: STDIN_FILENO)
    }
  }
}
