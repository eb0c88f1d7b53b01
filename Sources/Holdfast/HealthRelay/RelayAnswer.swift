import HealthRelay
import LinkHealth
import LinkJSON
import LinkRuntime
import LinkWire

/// What came of a question: the object that is told, and what is known of it.
struct RelayAnswer: Sendable {
  let object: HealthObject
  let content: RelayModel.Prepared.Content

  /// Reads as many pages as the answer needs, apart from the shell: it must go on meanwhile.
  @concurrent static func make(
    _ question: HealthAnswering, from store: any HealthStore
  ) async -> RelayAnswer {
    var answering = question
    var failure: StoreFailure?
    while true {
      switch answering.step {
      case .read(let query):
        do throws(StoreFailure) {
          answering.take(try await store.samples(query))
        } catch {
          failure = error
          answering.fail(error.description)
        }
        // Nobody waits any more.
        if Task.isCancelled { return RelayAnswer(.failure("cancelled"), of: answering, nil) }
      case .done(let object):
        return RelayAnswer(object, of: answering, failure)
      }
    }
  }

  private init(_ object: HealthObject, of answering: HealthAnswering, _ failure: StoreFailure?) {
    self.object = object
    if let failure {
      content = .unreadable(reason: failure.description)
    } else if object.succeeded {
      content = .points(answering.points, isTruncated: answering.isCut)
    } else {
      content = .refused(reason: object.reason ?? "not all of it can be answered")
    }
  }

  /// The messages that carry it, apart from the shell too: there may be megabytes.
  @concurrent func messages(
    to id: RelayRequestID, _ kind: HealthQuestion.Kind, inParts: Bool
  ) async -> [[UInt8]] {
    PhoneMessage.frames(
      answering: kind, id, object, atMost: inParts ? HealthPart.maxFrameBytes : .max
    ).map(\.bytes)
  }
}

extension HealthObject {
  /// Why it is a failure, where it says so.
  fileprivate var reason: String? {
    var reader = JSONReader(bytes)
    return try? reader.errorMessage()
  }
}

extension JSONReader {
  fileprivate mutating func errorMessage() throws(JSONError) -> String? {
    try beginObject()
    while let key = try nextKey() {
      if matches(key, "error_message"), try peek() == .string { return try string() }
      try skipValue()
    }
    return nil
  }
}
