import HoldfastCore

/// The batches of JSON-RPC messages that are not completely answered.
///
/// Only version 2025-03-26 requires a server to accept batches. Each message is handled as a
/// separate request with an id of its own, and its response is kept until the last one is there.
/// The table is bounded by the number of open requests and by `most`.
struct MCPBatches<Form: Sendable>: Sendable {
  struct Batch {
    var members: [RequestID]
    /// The form in which the transport answers.
    var form: Form
    var responses: [RequestID: [UInt8]] = [:]

    /// The total size of the responses so far, in bytes.
    var held: Int { responses.values.reduce(0) { $0 + $1.count } }

    /// The array of the responses, or `nil` if no message of the batch has a response.
    fileprivate var body: [UInt8]? {
      let found = members.compactMap { responses[$0] }.filter { !$0.isEmpty }
      guard !found.isEmpty else { return nil }
      return [UInt8(ascii: "[")] + Array(found.joined(separator: [UInt8(ascii: ",")]))
        + [UInt8(ascii: "]")]
    }
  }

  /// The maximum number of messages in a batch, chosen as twice the pending calls of a session.
  static var most: Int { 32 }

  private var batches: [RequestID: Batch] = [:]
  /// The batch of each message.
  private var owners: [RequestID: RequestID] = [:]
  /// The id of the newest message. Ids count down from the maximum, which no other request reaches.
  private var lastMember = UInt64.max

  /// Whether no batch is pending.
  var isEmpty: Bool { owners.isEmpty }

  /// Adds a batch, and returns an id for each of its messages.
  mutating func begin(_ request: RequestID, count: Int, _ form: Form) -> [RequestID] {
    let members = (0..<count).map { _ in
      lastMember -= 1
      return RequestID(lastMember)
    }
    batches[request] = Batch(members: members, form: form)
    for member in members { owners[member] = request }
    return members
  }

  /// Returns the batch of a message, or `nil` if the message is in none.
  func batch(of member: RequestID) -> Batch? { owners[member].flatMap { batches[$0] } }

  /// Returns the request of the batch of a message, or `nil` if the message is in none.
  func owner(of member: RequestID) -> RequestID? { owners[member] }

  /// Returns whether a request is a pending batch or a message in a pending batch.
  func holds(_ request: RequestID) -> Bool { batches[request] != nil || owners[request] != nil }

  /// Changes the form of a pending batch.
  mutating func change(_ request: RequestID, _ change: (inout Form) -> Void) {
    guard var batch = batches[request] else { return }
    change(&batch.form)
    batches[request] = batch
  }

  /// Removes a batch. Returns its messages, or `nil` if there is no such batch.
  mutating func forget(_ request: RequestID) -> [RequestID]? {
    guard let batch = batches.removeValue(forKey: request) else { return nil }
    for member in batch.members { owners[member] = nil }
    return batch.members
  }

  /// Keeps the response to a message, which is empty if it has none.
  ///
  /// Returns the batch once it is complete, with its response, which is `nil` if no message has one.
  mutating func take(
    _ response: [UInt8], of member: RequestID
  ) -> (request: RequestID, form: Form, body: [UInt8]?)? {
    guard let request = owners[member] else { return nil }
    batches[request]?.responses[member] = response
    guard let batch = batches[request], batch.responses.count == batch.members.count else {
      return nil
    }
    _ = forget(request)
    return (request, batch.form, batch.body)
  }
}

extension MCPBatches: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(owners.isEmpty == batches.isEmpty, "batches: none is without messages")
    guard check.isThorough else { return }
    check.require(
      owners.allSatisfy { batches[$1]?.members.contains($0) ?? false }
        && owners.count == batches.values.reduce(0) { $0 + $1.members.count },
      "batches: a message is one of its batch")
    check.require(
      batches.values.allSatisfy { batch in
        batch.responses.count < batch.members.count
          && batch.responses.keys.allSatisfy { batch.members.contains($0) }
      }, "batches: a batch that waits lacks an answer")
  }
}
