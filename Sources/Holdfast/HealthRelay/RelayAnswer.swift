import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastJSON
import HoldfastRelayData

/// The answer to a question: the object that is sent, and its summary for the model.
struct RelayAnswer: Sendable {
  let object: HealthObject
  let content: RelayModel.Prepared.Content

  /// Reads all required pages and returns the answer, without blocking the effect handler's actor.
  @concurrent static func make(
    _ question: HealthQuestion, zone: ZoneRules, now: Timestamp, limits: AnswerLimits,
    from store: any HealthReading
  ) async -> RelayAnswer {
    // If this fails, reading the first page also fails and reports the reason.
    let stored = (try? await store.stored()) ?? StoredHealth()
    var answering = HealthAnswering(
      question, zone: zone, now: now, limits: limits, stored: stored)
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
        // The question was cancelled.
        if Task.isCancelled { return RelayAnswer(.failure("cancelled"), of: answering, nil) }
      case .list:
        do throws(StoreFailure) {
          answering.take(try await store.summary())
        } catch {
          failure = error
          answering.fail(error.description)
        }
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

  /// Returns the messages that contain the answer.
  ///
  /// The method does not block the effect handler's actor, because an answer can have megabytes.
  @concurrent func messages(
    to id: RelayRequestID, _ kind: HealthQuestion.Kind, inParts: Bool
  ) async -> [[UInt8]] {
    PhoneMessage.frames(
      answering: kind, id, object, atMost: inParts ? HealthPart.maxFrameBytes : .max
    ).map(\.bytes)
  }
}

extension HealthReading {
  /// Returns the answer to a question, as a relay with the same time zone gives it.
  package func answer(
    _ question: HealthQuestion, zone: ZoneRules, now: Timestamp
  ) async -> HealthObject {
    await RelayAnswer.make(question, zone: zone, now: now, limits: .parts, from: self).object
  }
}

extension HealthObject {
  /// The reason for the failure, if the object contains one.
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
