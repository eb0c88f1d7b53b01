#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connection that the proxy itself answers: it reads the head of a request, writes fixed bytes,
/// and ends.
struct AnsweredLink {
  private enum State {
    /// The head is being read. The bytes are those received so far.
    case reading([UInt8])
    case writing(ArraySlice<UInt8>)
    /// The answer was sent. The rest of the request is read, because a close with unread bytes would
    /// destroy the answer.
    case draining
  }

  /// The maximum size of a head. A longer one is answered as if it were complete.
  private static let longestHead = 65_536
  private static let headEnd = Array("\r\n\r\n".utf8)

  private let client: Int32
  private let answer: [UInt8]
  private var state = State.reading([])

  init(_ client: Int32, answer: [UInt8]) {
    (self.client, self.answer) = (client, answer)
  }

  /// The socket and the events to wait for.
  var interest: (socket: Int32, events: Int16) {
    if case .writing = state { (client, Int16(POLLOUT)) } else { (client, Int16(POLLIN)) }
  }

  /// Reads and writes as much as is possible.
  mutating func turn() -> Link.Outcome {
    while true {
      switch state {
      case .reading(let head):
        switch TCP.read(client) {
        case .bytes(let bytes): receive(head + bytes)
        case .nothing: return .open
        case .end, .broken: return end()
        }
      case .writing(let rest):
        switch TCP.write(client, rest) {
        case .sent(let count): send(rest.dropFirst(count))
        case .full: return .open
        case .broken: return end()
        }
      case .draining:
        switch TCP.read(client) {
        case .bytes: continue
        case .nothing: return .open
        case .end, .broken: return end()
        }
      }
    }
  }

  /// Closes the connection.
  func close() { TCP.close(client) }

  private mutating func receive(_ head: [UInt8]) {
    let isWhole = head.count >= Self.longestHead || head.firstRange(of: Self.headEnd) != nil
    state = isWhole ? .writing(answer[...]) : .reading(head)
  }

  private mutating func send(_ rest: ArraySlice<UInt8>) {
    state = .writing(rest)
    guard rest.isEmpty else { return }
    TCP.end(client)
    state = .draining
  }

  private func end() -> Link.Outcome {
    close()
    return .closed
  }
}
