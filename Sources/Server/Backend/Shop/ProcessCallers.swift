import HoldfastCore
import HoldfastMessageServer

/// The callers in this process that wait for answers of the rules of messages.
struct ProcessCallers: Sendable {
  private var waiting: [RequestID: @Sendable (Answer) -> Void] = [:]
  /// The ID of the latest request.
  ///
  /// These IDs begin in the middle of the range. No request of a connection reaches that value.
  private var last: UInt64 = 1 << 63

  /// Adds a caller. Returns the ID of its request.
  mutating func add(_ done: @escaping @Sendable (Answer) -> Void) -> RequestID {
    last += 1
    waiting[RequestID(last)] = done
    return RequestID(last)
  }

  /// Passes an answer on. Returns false if the request is that of a connection.
  mutating func answered(_ id: RequestID, _ answer: Answer) -> Bool {
    guard !waiting.isEmpty, let done = waiting.removeValue(forKey: id) else { return false }
    done(answer)
    return true
  }

  /// Notifies all callers that the backend has stopped.
  mutating func end() {
    let callers = waiting.sorted { $0.key < $1.key }
    waiting = [:]
    for (_, done) in callers { done(.error(503, "the server stopped")) }
  }
}

extension ShopService {
  /// Adds a caller in this process. Returns the ID of its request.
  mutating func expect(_ done: @escaping @Sendable (Answer) -> Void) -> RequestID {
    callers.add(done)
  }
}
